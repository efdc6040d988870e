#include "commands/moving/rules/adoption_parts.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/owner_reference.h"
#include "base/encoding.h"
#include "manifests/schema.h"

namespace muster::commands {

using nlohmann::json;

kube::Resource resource_for(const json& object) {
  struct Known {
    const char *kind, *plural;
    bool namespaced;
  };
  static constexpr Known kKnown[] = {{"Deployment", "deployments", true},
                                     {"Lease", "leases", true},
                                     {"ConfigMap", "configmaps", true},
                                     {"CustomResourceDefinition", "customresourcedefinitions", false},
                                     {"MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false},
                                     {"ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false},
                                     {"APIService", "apiservices", false}};
  const std::string_view kind = string_at(object, {"kind"}), api_version = string_at(object, {"apiVersion"});
  const std::string group(group_of(api_version));
  const std::string version(api_version.substr(group.empty() ? 0 : group.size() + 1));
  for (const Known& known : kKnown) {
    if (known.kind == kind) return {group, version, known.plural, known.namespaced, known.kind};
  }
  return {};
}

json without_server_fields(json object) {
  json& metadata = object["metadata"];
  for (const char* field : {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"})
    metadata.erase(field);
  object.erase("status");
  return object;
}

const json* record_of(const ClusterDump& state, const AdoptionOptions& options) {
  return state.find("", "ConfigMap", options.muster_namespace, kAdoptionRecordName);
}

json recorded(const ClusterDump& state, const AdoptionOptions& options, const std::string& component) {
  const json* record = record_of(state, options);
  if (record == nullptr) return nullptr;
  auto kept = parse_json(string_at(*record, {"data", component + ".json"}));
  return kept ? std::move(*kept) : json();
}

std::vector<const json*> taken_definitions(const ClusterDump& state, const Component& component) {
  std::vector<const json*> taken;
  for (const manifests::DefinedKind& kind : manifests::defined_kinds()) {
    if (string_at(*kind.definition, {"spec", "group"}) != component.group) continue;
    const json* live = state.find("apiextensions.k8s.io", "CustomResourceDefinition", "",
                                  string_at(*kind.definition, {"metadata", "name"}));
    if (live != nullptr) taken.push_back(live);
  }
  return taken;
}

AdoptionChange merge_patch(const json& object, json patch, std::string subresource) {
  return {AdoptionChange::Verb::kMerge,
          resource_for(object),
          std::string(string_at(object, {"metadata", "namespace"})),
          std::string(string_at(object, {"metadata", "name"})),
          std::move(patch),
          std::move(subresource)};
}

AdoptionChange create(json object) {
  const kube::Resource resource = resource_for(object);
  const std::string ns(string_at(object, {"metadata", "namespace"})), name(string_at(object, {"metadata", "name"}));
  return {AdoptionChange::Verb::kCreate, resource, ns, name, std::move(object)};
}

AdoptionChange remove(const json& object) {
  return {AdoptionChange::Verb::kDelete,
          resource_for(object),
          std::string(string_at(object, {"metadata", "namespace"})),
          std::string(string_at(object, {"metadata", "name"})),
          {{"metadata", {{"uid", string_at(object, {"metadata", "uid"})}}}}};
}

std::vector<const json*> pods_of(const ClusterDump& state, const json& deployment) {
  std::vector<const json*> pods;
  const json& wanted = object_at(deployment, {"spec", "selector", "matchLabels"});
  const std::string_view ns = string_at(deployment, {"metadata", "namespace"});
  for (const json* pod : state.of_kind("", "Pod")) {
    if (string_at(*pod, {"metadata", "namespace"}) != ns) continue;
    bool matches = !wanted.empty();
    for (auto it = wanted.begin(); it != wanted.end(); ++it)
      matches &= it.value().is_string() && label(*pod, it.key()) == it.value().get<std::string>();
    if (matches) pods.push_back(pod);
  }
  return pods;
}

void add_scale_down(const ClusterDump& state, const std::vector<const json*>& deployments, const std::string& title,
                    std::vector<AdoptionStep>& steps) {
  AdoptionStep scale{.name = "scale-down", .sentence = "scale " + title + " down to no replica"};
  bool pods = false;
  for (const json* deployment : deployments) {
    pods |= !pods_of(state, *deployment).empty();
    if (int_at(*deployment, {"spec", "replicas"}).value_or(1) != 0)
      scale.changes.push_back(merge_patch(*deployment, {{"spec", {{"replicas", 0}}}}));
  }
  scale.done = scale.changes.empty();
  steps.push_back(std::move(scale));
  steps.push_back(
      {.name = "await-end", .sentence = "wait until the last pod of " + title + " has ended", .done = !pods});
}

std::string adoption_holder(std::string_view ns) {
  return "muster-adopt_" + sha256_hex("muster adopt " + std::string(ns)).substr(0, 32);
}

const json* muster_deployment(const ClusterDump& state, const std::string& ns) {
  return state.find("apps", "Deployment", ns, "muster");
}

const AdoptionStep* next_step(const std::vector<AdoptionStep>& steps) {
  for (const AdoptionStep& step : steps) {
    if (!step.done) return &step;
  }
  return nullptr;
}

}  // namespace muster::commands
