// What is wrong with a muster that is installed, most damaging first, each cause once, with the command that repairs it
// and what follows from it. Pure.
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

// By severity, and where that is equal by cause. What could not be read is among them.
std::vector<Finding> doctor(const ClusterDump& dump, const DoctorFacts& facts);

// The order of doctor, for a sorted list: pods, what they need to become ready, Service, webhooks, CA bundles, Lease,
// the rest. `serves`: a replica is ready. While none is, what follows from that is listed under its cause, which is
// then as severe as the worst of it.
std::vector<Finding> by_cause(std::vector<Finding> findings, bool serves);

// Of muster's Deployment; 0: there is none.
int64_t ready_replicas(const ClusterDump& dump, const std::string& ns);

// Its parts; each adds to the list.
struct DoctorContext {
  const ClusterDump& dump;
  const DoctorFacts& facts;
  std::vector<Finding>& findings;

  void add(Severity severity, const char* rule, std::vector<std::string> objects, std::string problem,
           std::string remedy) const {
    findings.push_back({severity, rule, std::move(objects), std::move(problem), std::move(remedy)});
  }
  std::vector<const nlohmann::json*> pods() const;  // of muster
  std::string kubectl() const { return "kubectl -n " + facts.muster_namespace + " "; }
  // The command that puts a part of the installation back ("crds", "rbac", "webhooks"), as it was installed: by Helm,
  // or by `muster manifests` with muster's own configuration. `force` takes over fields of other managers.
  std::string restore(const char* part, bool force = false) const;
};
// Why no replica of muster leads, as the Lease says; nullopt: one does.
std::optional<Finding> lease_trouble(const DoctorContext& context);
void doctor_pods(const DoctorContext& context);      // Deployment and pods
void doctor_process(const DoctorContext& context);   // Lease, clocks, versions, rights
void doctor_webhooks(const DoctorContext& context);  // webhooks, certificates, definitions
void doctor_queues(const DoctorContext& context);    // queues, what they name, deletion

}  // namespace muster::commands
