// `kubectl muster create clusterqueue|localqueue|flavor NAME`, with kueuectl's flags.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "commands/kubectl/cluster_flags.h"

namespace CLI {
class App;
}

namespace muster::commands {

struct CreateOptions {
  ClusterFlags cluster{};
  std::string name{};
  std::string dry_run{};
  std::string output{};  // empty, "yaml", "json" or "name"
  // Of ClusterQueues.
  std::string cohort{}, queuing_strategy{}, reclaim_within_cohort{}, preemption_within_cluster_queue{};
  std::vector<std::string> namespace_selector{};  // "key=value"
  // "flavor:cpu=9;memory=36Gi", each of one flavor.
  std::vector<std::string> nominal{}, borrowing{}, lending{};
  // Of LocalQueues.
  std::string cluster_queue{};
  bool ignore_unknown = false;
  // Of ResourceFlavors.
  std::vector<std::string> node_labels{};  // "key=value"
  std::vector<std::string> node_taints{};  // "key=value:Effect"
  std::vector<std::string> tolerations{};  // "key=value:Effect", "key:Effect", "key"
};

// `create` with its subcommands; `chosen` is set to the one that was given.
void add_create(CLI::App& app, CreateOptions& options, std::string& chosen);
// Returns the exit code: 0 created, 1 not, 2 wrong command line.
int create(const std::string& chosen, const CreateOptions& options, std::ostream& out, std::ostream& err);

// The objects. An error says which flag cannot be read.
Result<nlohmann::json> cluster_queue_of(const CreateOptions& options);
nlohmann::json local_queue_of(const CreateOptions& options, const std::string& ns);
Result<nlohmann::json> flavor_of(const CreateOptions& options);

}  // namespace muster::commands
