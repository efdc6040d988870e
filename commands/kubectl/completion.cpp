#include "commands/kubectl/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "commands/kubectl/get_command.h"
#include "commands/kubectl/reader.h"
#include "commands/kubectl/stop_command.h"
#include "explain/lists/workload_state.h"
#include "jobs/naming/named_kind.h"

namespace muster::commands {
namespace {

using nlohmann::json;
using Words = ClusterNames::Words;

constexpr std::string_view kBash = R"(# bash completion for muster. To load it: source <(muster completion bash)
_muster_complete() {
  local line words
  words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("${line%%$'\t'*}")
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}
complete -o default -F _muster_complete muster kubectl-muster
)";

constexpr std::string_view kZsh = R"(#compdef muster kubectl-muster
# zsh completion for muster. To load it: source <(muster completion zsh)
_muster_complete() {
  local -a found
  found=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found:#:*}")
  compadd -- "${(@)found%%$'\t'*}"
}
compdef _muster_complete muster kubectl-muster
)";

constexpr std::string_view kFish = R"(# fish completion for muster. To load it: muster completion fish | source
function __muster_complete
  set -l words (commandline -opc) (commandline -ct)
  command $words[1] __complete $words[2..-1] 2>/dev/null | string match -v -r '^:'
end
complete -c muster -f -a '(__muster_complete)'
complete -c kubectl-muster -f -a '(__muster_complete)'
)";

// The command that the words have reached, and the words behind it.
struct Reached {
  const CLI::App* command;
  std::string name;    // of the first command: "get"
  Words rest;          // without flags and their values
  std::string before;  // the word before the last one
};

// The option of a word as -o or --output; nullptr: it is none.
const CLI::Option* option_of(const CLI::App& command, const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || word.find('=') != std::string::npos) return nullptr;
  return command.get_option_no_throw(word);
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0 && option->get_type_size() > 0;
}

const CLI::App* subcommand_of(const CLI::App& command, const std::string& word) {
  for (const CLI::App* each : command.get_subcommands(nullptr)) {
    if (each->check_name(word)) return each;
  }
  return nullptr;
}

Reached reach(const CLI::App& app, const Words& words) {
  Reached reached{&app, "", {}, words.size() > 1 ? words[words.size() - 2] : ""};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].starts_with("-")) {
      if (takes_value(option_of(*reached.command, words[i]))) ++i;
      continue;
    }
    const CLI::App* next = reached.rest.empty() ? subcommand_of(*reached.command, words[i]) : nullptr;
    if (next == nullptr) {
      reached.rest.push_back(words[i]);
      continue;
    }
    if (reached.name.empty()) reached.name = next->get_name();
    reached.command = next;
  }
  return reached;
}

Words option_names(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

const ResourceType& type_of(const GetKind& kind) {
  if (kind.jobs) return kJobs;
  if (kind.list == ListKind::kLocalQueueList) return kLocalQueues;
  if (kind.list == ListKind::kClusterQueueList) return kClusterQueues;
  return kind.list == ListKind::kCohortList ? kCohorts : kWorkloads;
}

// Commands that take KIND NAME, KIND/NAME or NAME.
bool names_an_object(const Reached& reached) {
  return reached.name == "explain" || reached.name == "history" || reached.name == "priority";
}

// "job" or "job/" and what follows; a name of a job.
Words objects(const Reached& reached, const Words& words, const ClusterNames& cluster) {
  if (reached.rest.size() > 1) return {};
  if (reached.rest.size() == 1) {
    const auto kind = jobs::find_named_kind(reached.rest[0]);
    return kind ? cluster.of_kind(*kind->type, words) : Words{};
  }
  const std::string& last = words.back();
  const size_t slash = last.find('/');
  if (slash == std::string::npos) {
    Words found = jobs::named_kind_words();
    const Words names = cluster.of_jobs(words);
    found.insert(found.end(), names.begin(), names.end());
    return found;
  }
  const auto kind = jobs::find_named_kind(last.substr(0, slash));
  Words found = kind ? cluster.of_kind(*kind->type, words) : Words{};
  for (std::string& name : found) name.insert(0, last, 0, slash + 1);
  return found;
}

Words values_of_option(const Reached& reached, const Words& words, const ClusterNames& cluster) {
  const std::string& name = reached.before;
  if (name == "-n" || name == "--namespace") return cluster.of_kind(kNamespaces, words);
  if (name == "-q" || name == "--queue") return cluster.of_kind(kLocalQueues, words);
  if (name == "--clusterqueue" || name == "-c") return cluster.of_kind(kClusterQueues, words);
  if (name == "--cohort") return cluster.of_kind(kCohorts, words);
  if (name == "--resource") return cluster.of_resources(words);
  if (name == "--state") return {explain::kWorkloadStates.begin(), explain::kWorkloadStates.end()};
  if (name == "--sort-by") return {"created", "name", "priority", "queue"};
  if (name != "-o" && name != "--output") return {};
  if (names_an_object(reached)) return {"json", "text"};
  if (reached.name == "create") return {"json", "name", "yaml"};
  if (reached.name == "preflight" || reached.name == "doctor") return {"json", "table", "yaml"};
  return reached.name == "review" ? Words{"json", "junit", "patch", "sarif", "table", "yaml"}
                                  : Words{"json", "name", "wide", "yaml"};
}

Words positionals(const Reached& reached, const Words& words, const ClusterNames& cluster) {
  const size_t at = reached.rest.size();
  if (reached.name == "get") {
    if (at == 0) return get_kinds();
    const auto kind = find_get_kind(reached.rest[0]);
    return kind ? cluster.of_kind(type_of(*kind), words) : Words{};
  }
  if (names_an_object(reached)) return objects(reached, words, cluster);
  if (reached.name == "stop" || reached.name == "resume") {
    if (at == 0) return {"clusterqueue", "localqueue", "workload"};
    if (const ResourceType* type = stoppable_type(reached.rest[0])) return cluster.of_kind(*type, words);
    const auto kind = jobs::find_named_kind(reached.rest[0]);
    return kind ? cluster.of_kind(*kind->type, words) : Words{};
  }
  if (at > 0) return {};
  if (reached.name == "who") return cluster.of_resources(words);
  if (reached.name == "top") return {"clusterqueues", "queues"};
  if (reached.name == "completion") return {"bash", "fish", "zsh"};
  return {};
}

Words candidates(const CLI::App& app, const Words& words, const ClusterNames& cluster) {
  const Reached reached = reach(app, words);
  const std::string& last = words.back();
  if (takes_value(option_of(*reached.command, reached.before))) return values_of_option(reached, words, cluster);
  if (last.starts_with("-")) return option_names(*reached.command);
  Words found;
  for (const CLI::App* each : reached.command->get_subcommands(nullptr)) {
    if (!each->get_group().empty() && reached.rest.empty()) found.push_back(each->get_name());
  }
  return found.empty() ? positionals(reached, words, cluster) : found;
}

// The value of a flag in the words, as "-n team" or "--namespace=team"; empty: the flag is missing.
std::string flag_in(const Words& words, const std::vector<std::string>& names) {
  for (size_t i = 0; i < words.size(); ++i) {
    for (const std::string& name : names) {
      if (words[i] == name && i + 1 < words.size()) return words[i + 1];
      if (words[i].starts_with(name + "=")) return words[i].substr(name.size() + 1);
    }
  }
  return "";
}

// At most 500, in the namespace of the words.
std::vector<json> items_of(const ResourceType& type, const Words& words, bool metadata_only) {
  ClusterFlags flags;
  flags.kubeconfig = flag_in(words, {"--kubeconfig"});
  flags.context = flag_in(words, {"--context"});
  flags.ns = flag_in(words, {"-n", "--namespace"});
  flags.as_user = flag_in(words, {"--as"});
  flags.request_timeout = std::chrono::seconds(3);
  auto reader = MusterReader::connect(flags);
  if (!reader) return {};
  kube::KubeRequest request;
  request.path = kube::collection_path(kube::resource_of(type), type.namespaced ? (*reader)->ns() : "");
  request.query = {{"limit", "500"}};
  if (metadata_only) request.accept = kube::accept_header(true, "PartialObjectMetadataList");
  request.once = true;
  const auto answer = (*reader)->api().send(request, {});
  std::vector<json> items;
  if (!answer) return items;
  for (const json& item : array_at(*answer, {"items"})) items.push_back(item);
  return items;
}

}  // namespace

std::string complete(const CLI::App& app, const Words& words, const ClusterNames& cluster) {
  Words found = candidates(app, words.empty() ? Words{""} : words, cluster);
  const std::string last = words.empty() ? "" : words.back();
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::string text;
  for (const std::string& each : found) {
    if (each.starts_with(last)) text += each + "\n";
  }
  return text + ":4\n";
}

ClusterNames names_from_cluster() {
  return {
      .of_kind =
          [](const ResourceType& type, const Words& words) {
            Words names;
            for (const json& item : items_of(type, words, true))
              names.emplace_back(string_at(item, {"metadata", "name"}));
            return names;
          },
      .of_jobs =
          [](const Words& words) {
            Words names;
            for (const json& item : items_of(kWorkloads, words, true)) {
              names.emplace_back(string_at(item, {"metadata", "name"}));
              for (const json& owner : array_at(item, {"metadata", "ownerReferences"}))
                names.emplace_back(string_at(owner, {"name"}));
            }
            return names;
          },
      .of_resources =
          [](const Words& words) {
            Words names;
            for (const json& item : items_of(kClusterQueues, words, false)) {
              for (const json& group : array_at(item, {"spec", "resourceGroups"})) {
                for (const json& resource : array_at(group, {"coveredResources"}))
                  if (resource.is_string()) names.push_back(resource.get<std::string>());
              }
            }
            if (!names.empty()) return names;
            // Who cannot list queues sees what the Workloads of the namespace have got.
            for (const json& item : items_of(kWorkloads, words, false)) {
              for (const json& pod_set : array_at(item, {"status", "admission", "podSetAssignments"})) {
                for (const auto& [resource, amount] : object_at(pod_set, {"resourceUsage"}).items())
                  names.push_back(resource);
              }
            }
            return names;
          },
  };
}

Result<std::string> completion_script(std::string_view shell) {
  static const std::map<std::string_view, std::string_view> kScripts = {
      {"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  const auto found = kScripts.find(shell);
  if (found == kScripts.end())
    return fail("there is no completion for \"" + std::string(shell) + "\"; there are bash, zsh and fish");
  return std::string(found->second);
}

}  // namespace muster::commands
