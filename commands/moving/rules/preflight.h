// What a move from Kueue, and from JobSet's controller, to muster would do to a cluster. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/config/jobset_configuration.h"
#include "commands/moving/rules/cluster_dump.h"
#include "runtime/load_settings.h"

namespace muster::commands {

struct PreflightOptions {
  std::string muster_namespace{manifests::kDefaultNamespace};
  // muster's configuration; nullptr: Kueue's ConfigMap of the dump, or the defaults.
  const runtime::Settings* settings = nullptr;
  std::optional<int> server_minor{};  // of Kubernetes 1.x; nullopt: not known, as with files
};

// Sorted. What could not be read is among them.
std::vector<Finding> preflight(const ClusterDump& dump, const PreflightOptions& options);

// The gates that are on there and off in muster's own configuration.
std::vector<std::string> gates_missing_in(const MusterConfiguration& muster, const JobSetConfiguration& theirs);

// Its parts; each adds to the list.
struct PreflightContext {
  const ClusterDump& dump;
  const runtime::Settings& settings;
  RuleSettings rules;
  std::string muster_namespace;
  std::vector<Finding>& findings;

  void add(Severity severity, const char* rule, std::vector<std::string> objects, std::string problem,
           std::string remedy) const {
    findings.push_back({severity, rule, std::move(objects), std::move(problem), std::move(remedy)});
  }
};
void preflight_components(const PreflightContext& context);
void preflight_settings(const PreflightContext& context);
void preflight_jobset_settings(const PreflightContext& context);
void preflight_queues(const PreflightContext& context);
void preflight_work(const PreflightContext& context);

}  // namespace muster::commands
