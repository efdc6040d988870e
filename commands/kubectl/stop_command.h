// `kubectl muster stop|resume clusterqueue|localqueue|workload NAME`, as kueuectl has them, and with --dry-run who
// would be evicted.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "commands/kubectl/cluster_flags.h"

namespace CLI {
class App;
}

namespace muster::commands {

struct StopOptions {
  ClusterFlags cluster{};
  std::string kind{};
  std::vector<std::string> names{};
  bool keep_running = false;  // Hold instead of HoldAndDrain
  std::string dry_run{};
};

void add_stop(CLI::App& app, StopOptions& options);
void add_resume(CLI::App& app, StopOptions& options);

// Return the exit code: 0 done, 1 not done, 2 wrong command line.
int stop_queue(const StopOptions& options, std::ostream& out, std::ostream& err);
int resume_queue(const StopOptions& options, std::ostream& out, std::ostream& err);

// Of "clusterqueue", "cq", "localqueue", "lq", "workload", "wl" and their plurals; nullptr: none of them.
const ResourceType* stoppable_type(std::string_view word);
// The merge patch that stops or resumes an object of that type.
nlohmann::json stop_patch(const ResourceType& type, bool keep_running);
nlohmann::json resume_patch(const ResourceType& type);
// "namespace/name" of those in a list of Workloads that a stop evicts: that hold quota and are not evicted yet.
std::vector<std::string> evicted_by_stop(const nlohmann::json& workloads, std::string_view only_workload);

}  // namespace muster::commands
