// What is wrong with a muster that is installed, most damaging first, each with the command that repairs it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "commands/moving/rules/cluster_dump.h"
#include "manifests/names.h"

namespace muster::commands {

// What is no object of the cluster.
struct DoctorFacts {
  std::string muster_namespace{manifests::kDefaultNamespace};
  TimePoint now{};                        // by the clock of this machine
  std::optional<TimePoint> server_now{};  // by that of the API server, at the same moment; nullopt: not known
  std::optional<int> server_minor{};      // of Kubernetes 1.x
  std::vector<std::string> lacks{};  // rights that muster needs and does not have: "patch workloads.kueue.x-k8s.io"
  std::string version{};             // of this program
};

// Sorted. What could not be read is among them.
std::vector<Finding> doctor(const ClusterDump& dump, const DoctorFacts& facts);

// Its parts; each adds to the list.
struct DoctorContext {
  const ClusterDump& dump;
  const DoctorFacts& facts;
  std::vector<Finding>& findings;

  void add(Severity severity, const char* rule, std::vector<std::string> objects, std::string problem,
           std::string remedy) const {
    findings.push_back({severity, rule, std::move(objects), std::move(problem), std::move(remedy)});
  }
  std::string kubectl() const { return "kubectl -n " + facts.muster_namespace + " "; }
  // The command that puts a part of the installation back ("crds", "rbac", "webhooks"), as it was installed: by Helm,
  // or by `muster manifests` with muster's own configuration. `force` takes over fields of other managers.
  std::string restore(const char* part, bool force = false) const;
};
void doctor_process(const DoctorContext& context);   // Deployment, pods, Lease, clocks, versions, rights
void doctor_webhooks(const DoctorContext& context);  // webhooks, certificates, definitions
void doctor_queues(const DoctorContext& context);    // queues, what they name, deletion

}  // namespace muster::commands
