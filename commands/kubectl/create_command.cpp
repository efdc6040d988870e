#include "commands/kubectl/create_command.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/meta/names.h"
#include "api/meta/quantity.h"
#include "commands/kubectl/dry_run.h"
#include "commands/kubectl/reader.h"
#include "commands/terminal/cli_choice.h"

namespace muster::commands {
namespace {

using nlohmann::json;

Result<std::string> parse_object_format(std::string_view text) {
  if (text == "yaml" || text == "json" || text == "name") return std::string(text);
  return fail("there is no output format \"" + std::string(text) + "\"; there are yaml, json and name");
}

Result<std::string> parse_object_name(std::string_view text) {
  if (const auto wrong = is_dns1123_subdomain(text); !wrong.empty())
    return fail("no object can be named \"" + std::string(text) + "\": " + join(wrong, "; "));
  return std::string(text);
}

// A value out of a small set of words.
auto one_of(std::vector<std::string> words) {
  return [words = std::move(words)](std::string_view text) -> Result<std::string> {
    for (const std::string& word : words) {
      if (word == text) return word;
    }
    return fail("is one of " + join(words, ", ") + ", not \"" + std::string(text) + "\"");
  };
}

json object_of(const ResourceType& type, const std::string& name) {
  return {
      {"apiVersion", type.api_version}, {"kind", type.kind}, {"metadata", {{"name", name}}}, {"spec", json::object()}};
}

// "key=value" into a map.
Outcome<> add_pairs(const std::vector<std::string>& texts, const char* flag, json& map) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(std::string(flag) + ": \"" + text + "\" is not KEY=VALUE");
    map[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return Done{};
}

// The index of an item with that name in a list; it is added where it is missing.
json& named(json& list, const std::string& name) {
  for (json& item : list) {
    if (item["name"] == name) return item;
  }
  list.push_back({{"name", name}});
  return list.back();
}

// "flavor:cpu=9;memory=36Gi" as one field of the resources of a flavor. Flavors of equal resources share a group.
Outcome<> add_quotas(const std::vector<std::string>& texts, const char* flag, const char* field, json& flavors) {
  for (const std::string& text : texts) {
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
      return fail(std::string(flag) + ": \"" + text + "\" is not FLAVOR:RESOURCE=AMOUNT;RESOURCE=AMOUNT");
    json& flavor = named(flavors, text.substr(0, colon));
    if (!flavor.contains("resources")) flavor["resources"] = json::array();
    std::string_view rest = std::string_view(text).substr(colon + 1);
    while (!rest.empty()) {
      const size_t end = rest.find(';');
      const std::string_view item = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      const size_t equals = item.find('=');
      if (equals == std::string_view::npos || equals == 0)
        return fail(std::string(flag) + ": \"" + std::string(item) + "\" is not RESOURCE=AMOUNT");
      const std::string amount(item.substr(equals + 1));
      if (!Quantity::parse(amount))
        return fail(std::string(flag) + ": \"" + amount + "\" is not a quantity, as 500m or 36Gi");
      named(flavor["resources"], std::string(item.substr(0, equals)))[field] = amount;
    }
  }
  return Done{};
}

// Kueue's groups: flavors with the same resources, in the order in which they were given.
json groups_of(const json& flavors) {
  json groups = json::array();
  for (const json& flavor : flavors) {
    json covered = json::array();
    for (const json& resource : flavor["resources"]) covered.push_back(resource["name"]);
    json* found = nullptr;
    for (json& group : groups) {
      if (group["coveredResources"] == covered) found = &group;
    }
    if (found == nullptr) {
      groups.push_back({{"coveredResources", covered}, {"flavors", json::array()}});
      found = &groups.back();
    }
    (*found)["flavors"].push_back(flavor);
  }
  return groups;
}

// "key=value:Effect", "key:Effect" or "key".
json taint_of(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string left = text.substr(0, colon);
  const size_t equals = left.find('=');
  json taint = {{"key", left.substr(0, equals)}};
  if (equals != std::string::npos) taint["value"] = left.substr(equals + 1);
  if (colon != std::string::npos) taint["effect"] = text.substr(colon + 1);
  return taint;
}

void add_common_flags(CLI::App& command, CreateOptions& options) {
  add_choice(command, "name", options.name, parse_object_name, "Its name")
      ->required()
      ->type_name("")
      ->option_text("NAME");
  add_dry_run(command, options.dry_run);
  add_choice(command, "-o,--output", options.output, parse_object_format, "Print the object: yaml, json or name")
      ->type_name("FORMAT");
  add_cluster_flags(command, options.cluster);
}

int stop(std::ostream& err, int code, const std::string& why) {
  err << "muster create: " << why << "\n";
  return code;
}

const ResourceType& type_of(const std::string& chosen) {
  if (chosen == "clusterqueue") return kClusterQueues;
  return chosen == "localqueue" ? kLocalQueues : kResourceFlavors;
}

std::string printed(const json& object, const std::string& format, const std::string& name) {
  if (format == "yaml") return write_yaml(object);
  if (format == "json") return object.dump(4) + "\n";
  return name + "\n";
}

}  // namespace

Result<json> cluster_queue_of(const CreateOptions& options) {
  json object = object_of(kClusterQueues, options.name);
  json& spec = object["spec"];
  json selector = json::object(), flavors = json::array();
  if (auto added = add_pairs(options.namespace_selector, "--namespace-selector", selector); !added)
    return fail(added.error().message);
  spec["namespaceSelector"] = selector.empty() ? json::object() : json{{"matchLabels", selector}};
  if (!options.cohort.empty()) spec["cohortName"] = options.cohort;
  if (!options.queuing_strategy.empty()) spec["queueingStrategy"] = options.queuing_strategy;
  if (!options.reclaim_within_cohort.empty()) spec["preemption"]["reclaimWithinCohort"] = options.reclaim_within_cohort;
  if (!options.preemption_within_cluster_queue.empty())
    spec["preemption"]["withinClusterQueue"] = options.preemption_within_cluster_queue;
  struct Part {
    const std::vector<std::string>& texts;
    const char *flag, *field;
  };
  for (const Part& part : {Part{options.nominal, "--nominal-quota", "nominalQuota"},
                           Part{options.borrowing, "--borrowing-limit", "borrowingLimit"},
                           Part{options.lending, "--lending-limit", "lendingLimit"}}) {
    if (auto added = add_quotas(part.texts, part.flag, part.field, flavors); !added) return fail(added.error().message);
  }
  for (const json& flavor : flavors) {
    for (const json& resource : flavor["resources"]) {
      if (!resource.contains("nominalQuota"))
        return fail("--nominal-quota is missing for " + resource["name"].get<std::string>() + " of flavor " +
                    flavor["name"].get<std::string>());
    }
  }
  if (!flavors.empty()) spec["resourceGroups"] = groups_of(flavors);
  return object;
}

json local_queue_of(const CreateOptions& options, const std::string& ns) {
  json object = object_of(kLocalQueues, options.name);
  object["metadata"]["namespace"] = ns;
  object["spec"]["clusterQueue"] = options.cluster_queue;
  return object;
}

Result<json> flavor_of(const CreateOptions& options) {
  json object = object_of(kResourceFlavors, options.name);
  json& spec = object["spec"];
  json labels = json::object();
  if (auto added = add_pairs(options.node_labels, "--node-labels", labels); !added) return fail(added.error().message);
  if (!labels.empty()) spec["nodeLabels"] = labels;
  for (const std::string& text : options.node_taints) {
    if (text.find(':') == std::string::npos) return fail("--node-taints: \"" + text + "\" is not KEY=VALUE:EFFECT");
    spec["nodeTaints"].push_back(taint_of(text));
  }
  for (const std::string& text : options.tolerations) {
    json toleration = taint_of(text);
    toleration["operator"] = toleration.contains("value") ? "Equal" : "Exists";
    spec["tolerations"].push_back(std::move(toleration));
  }
  return object;
}

void add_create(CLI::App& app, CreateOptions& options, std::string& chosen) {
  CLI::App& create = *app.add_subcommand("create", "Create a ClusterQueue, a LocalQueue or a ResourceFlavor");
  create.require_subcommand(1);
  CLI::App& cluster = *create.add_subcommand("clusterqueue", "Create a ClusterQueue")->alias("cq");
  add_common_flags(cluster, options);
  cluster.add_option("--cohort", options.cohort, "Its Cohort")->type_name("NAME");
  add_choice(cluster, "--queuing-strategy", options.queuing_strategy, one_of({"BestEffortFIFO", "StrictFIFO"}),
             "BestEffortFIFO (default) or StrictFIFO");
  cluster
      .add_option("--namespace-selector", options.namespace_selector, "KEY=VALUE of labels; default: all namespaces")
      ->delimiter(',');
  add_choice(cluster, "--reclaim-within-cohort", options.reclaim_within_cohort,
             one_of({"Never", "LowerPriority", "Any"}), "Never (default), LowerPriority or Any");
  add_choice(cluster, "--preemption-within-cluster-queue", options.preemption_within_cluster_queue,
             one_of({"Never", "LowerPriority", "LowerOrNewerEqualPriority"}),
             "Never (default), LowerPriority or LowerOrNewerEqualPriority");
  const char* form = "FLAVOR:RESOURCE=AMOUNT;RESOURCE=AMOUNT";
  cluster.add_option("--nominal-quota", options.nominal, "Nominal quota of a flavor")->type_name(form)->delimiter(',');
  cluster.add_option("--borrowing-limit", options.borrowing, "Borrowing limits of a flavor")
      ->type_name(form)
      ->delimiter(',');
  cluster.add_option("--lending-limit", options.lending, "Lending limits of a flavor")->type_name(form)->delimiter(',');
  cluster.callback([&chosen] { chosen = "clusterqueue"; });
  cluster.footer(
      "Example:\n  kubectl muster create clusterqueue research --cohort all --nominal-quota "
      "'spot:cpu=40;memory=160Gi'");

  CLI::App& local = *create.add_subcommand("localqueue", "Create a LocalQueue")->alias("lq");
  add_common_flags(local, options);
  local.add_option("-c,--clusterqueue", options.cluster_queue, "Its ClusterQueue")->required()->type_name("NAME");
  local.add_flag("-i,--ignore-unknown-cq", options.ignore_unknown, "Also where there is no such ClusterQueue");
  local.callback([&chosen] { chosen = "localqueue"; });
  local.footer("Example:\n  kubectl muster create localqueue team -c research -n team-a");

  CLI::App& flavor = *create.add_subcommand("flavor", "Create a ResourceFlavor")->alias("resourceflavor")->alias("rf");
  add_common_flags(flavor, options);
  flavor.add_option("--node-labels", options.node_labels, "KEY=VALUE of the nodes")->delimiter(',');
  flavor.add_option("--node-taints", options.node_taints, "KEY=VALUE:EFFECT of the nodes")->delimiter(',');
  flavor.add_option("--tolerations", options.tolerations, "KEY=VALUE:EFFECT, KEY:EFFECT or KEY, given to the pods")
      ->delimiter(',');
  flavor.callback([&chosen] { chosen = "flavor"; });
  flavor.footer(
      "Example:\n  kubectl muster create flavor spot --node-labels pool=spot --node-taints spot=yes:NoSchedule");
}

int create(const std::string& chosen, const CreateOptions& options, std::ostream& out, std::ostream& err) {
  auto object = chosen == "clusterqueue" ? cluster_queue_of(options)
                : chosen == "flavor"     ? flavor_of(options)
                                         : Result<json>(json());
  if (!object) return stop(err, 2, object.error().message);
  const DryRun dry_run = dry_run_of(options.dry_run);
  const ResourceType& type = type_of(chosen);
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(err, 1, reader.error().message);
  kube::KubeApi& api = (*reader)->api();
  const std::string ns = type.namespaced ? (*reader)->ns() : "";
  if (chosen == "localqueue") {
    *object = local_queue_of(options, ns);
    if (!options.ignore_unknown && dry_run != DryRun::kClient) {
      if (auto known = api.get(kube::resource_of(kClusterQueues), "", options.cluster_queue); !known)
        return stop(err, 1, known.error().message + " (--ignore-unknown-cq creates the LocalQueue all the same)");
    }
  }
  json made = *object;
  if (dry_run != DryRun::kClient) {
    auto answer = api.create(kube::resource_of(type), ns, *object,
                             {.field_manager = "kubectl-muster", .dry_run = dry_run == DryRun::kServer});
    if (!answer) return stop(err, 1, answer.error().message);
    made = std::move(*answer);
  }
  std::string singular(type.plural);
  singular.pop_back();
  const std::string name = singular + "." + std::string(type.group) + "/" + options.name;
  if (options.output.empty())
    out << name << " created" << suffix_of(dry_run) << "\n";
  else
    out << printed(made, options.output, name);
  return 0;
}

}  // namespace muster::commands
