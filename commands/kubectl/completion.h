// Shell completion: `muster completion bash|zsh|fish` prints a script that calls `muster __complete WORDS...`, and
// kubectl calls `kubectl_complete-muster WORDS...` for its plugin. Both answer as Cobra's programs do: a candidate
// on each line, and ":4" (no file names) at the end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "base/result.h"

namespace CLI {
class App;
}

namespace muster::commands {

// What the cluster has, as far as it can be had quickly; `words` are the command line, for its flags.
struct ClusterNames {
  using Words = std::vector<std::string>;
  std::function<Words(const ResourceType& type, const Words& words)> of_kind;
  std::function<Words(const Words& words)> of_jobs;       // of any kind, that have Workloads; and of Workloads
  std::function<Words(const Words& words)> of_resources;  // that queues have quota for: "nvidia.com/gpu"
};

// The candidates for the last of the words (which can be empty) and the line ":4". Options and subcommands are those
// of the app. Pure but for `cluster`.
std::string complete(const CLI::App& app, const std::vector<std::string>& words, const ClusterNames& cluster);

// Asks the API server that the words' flags name, for at most 500 objects and 3 s.
ClusterNames names_from_cluster();

// The script of a shell.
Result<std::string> completion_script(std::string_view shell);

}  // namespace muster::commands
