#include "commands/moving/rules/adoption.h"

#include <algorithm>

#include "api/codec/json.h"
#include "commands/moving/rules/adoption_parts.h"
#include "commands/moving/rules/definitions.h"
#include "commands/moving/rules/pod_trouble.h"
#include "manifests/schema.h"
#include "runtime/kueue/kueue_presence.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// client-go respects a Lease for the duration in the Lease: this Lease for 68 years.
constexpr int64_t kForGood = 2147483647;

std::vector<const json*> removed_objects(const FoundComponent& found) {
  std::vector<const json*> removed = found.mutating;
  removed.insert(removed.end(), found.validating.begin(), found.validating.end());
  removed.insert(removed.end(), found.api_services.begin(), found.api_services.end());
  return removed;
}

std::vector<std::string> namespaces_of(const std::vector<const json*>& deployments) {
  std::vector<std::string> namespaces;
  for (const json* deployment : deployments) {
    std::string ns(string_at(*deployment, {"metadata", "namespace"}));
    if (std::find(namespaces.begin(), namespaces.end(), ns) == namespaces.end()) namespaces.push_back(std::move(ns));
  }
  return namespaces;
}

// The data that is needed to restore everything.
json record_for(const ClusterDump& state, const Component& component, const FoundComponent& found) {
  json deployments = json::array(), objects = json::array(), definitions = json::object();
  for (const json* deployment : found.deployments)
    deployments.push_back({{"namespace", string_at(*deployment, {"metadata", "namespace"})},
                           {"name", string_at(*deployment, {"metadata", "name"})},
                           {"replicas", int_at(*deployment, {"spec", "replicas"}).value_or(1)}});
  for (const json* object : removed_objects(found)) objects.push_back(without_server_fields(*object));
  for (const json* definition : taken_definitions(state, component)) {
    const json* conversion = find_path(*definition, {"spec", "conversion"});
    const auto name = label(*definition, manifests::kAppNameLabel);
    definitions[std::string(string_at(*definition, {"metadata", "name"}))] = {
        {"conversion", conversion == nullptr ? json{{"strategy", "None"}} : *conversion},
        {"storage", storage_version(*definition)},
        {"label", name ? json(*name) : json()}};
  }
  return {{"deployments", deployments}, {"objects", objects}, {"definitions", definitions}};
}

AdoptionStep record_step(const ClusterDump& state, const AdoptionOptions& options, const Component& component,
                         const FoundComponent& found) {
  const std::string key(component.label), name(kAdoptionRecordName);
  AdoptionStep step{
      .name = "record",
      .sentence = "save all changed and removed objects in ConfigMap " + options.muster_namespace + "/" + name,
      .done = !recorded(state, options, key).is_null()};
  if (step.done) return step;
  const json data = {{key + ".json", record_for(state, component, found).dump()}};
  if (const json* record = record_of(state, options)) {
    step.changes = {merge_patch(*record, {{"data", data}})};
    return step;
  }
  step.changes = {create({{"apiVersion", "v1"},
                          {"kind", "ConfigMap"},
                          {"metadata",
                           {{"name", name},
                            {"namespace", options.muster_namespace},
                            {"labels", {{std::string(manifests::kAppNameLabel), manifests::kAppName}}}}},
                          {"data", data}})};
  return step;
}

AdoptionStep definitions_step(const ClusterDump& state, const Component& component) {
  AdoptionStep step{.name = "definitions",
                    .sentence = "take over the definitions of " + std::string(component.group) +
                                ": no field is removed, muster's fields are added"};
  for (const json* live : taken_definitions(state, component)) {
    const manifests::DefinedKind* own =
        manifests::find_defined_kind(component.group, string_at(*live, {"spec", "names", "kind"}));
    if (own == nullptr) continue;
    const json merged = merged_definition(*live, *own->definition);
    if (merged == *live) continue;
    step.changes.push_back(
        merge_patch(*live, {{"metadata",
                             {{"resourceVersion", string_at(*live, {"metadata", "resourceVersion"})},
                              {"labels", {{std::string(manifests::kAppNameLabel), manifests::kAppName}}}}},
                            {"spec", {{"versions", merged["spec"]["versions"]}}}}));
  }
  step.done = step.changes.empty();
  return step;
}

AdoptionStep register_step(const ClusterDump& state, const AdoptionOptions& options) {
  AdoptionStep step{
      .name = "register",
      .sentence = "register muster's webhooks: from now until muster leads, new jobs with a queue are refused"};
  const json* deployment = muster_deployment(state, options.muster_namespace);
  for (json object : options.webhooks) {
    if (state.find("admissionregistration.k8s.io", string_at(object, {"kind"}), "",
                   manifests::kWebhookConfigurationName))
      continue;
    // So that Helm treats it as a part of its release.
    for (const char* key : {"meta.helm.sh/release-name", "meta.helm.sh/release-namespace"}) {
      const auto value = deployment == nullptr ? std::nullopt : annotation(*deployment, key);
      if (!value) continue;
      object["metadata"]["annotations"][key] = *value;
      object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm";
    }
    step.changes.push_back(create(std::move(object)));
  }
  step.done = step.changes.empty();
  return step;
}

AdoptionStep lease_step(const ClusterDump& state, const Component& component,
                        const std::vector<std::string>& namespaces) {
  AdoptionStep step{.name = "take-lease",
                    .sentence = "hold " + std::string(component.title) +
                                "'s Lease, so that it cannot lead even if it is started again"};
  for (const std::string& ns : namespaces) {
    const json spec = {{"holderIdentity", adoption_holder(ns)}, {"leaseDurationSeconds", kForGood}};
    const json* lease = state.find("coordination.k8s.io", "Lease", ns, component.lease);
    if (lease == nullptr) {
      step.changes.push_back(create({{"apiVersion", "coordination.k8s.io/v1"},
                                     {"kind", "Lease"},
                                     {"metadata", {{"name", component.lease}, {"namespace", ns}}},
                                     {"spec", spec}}));
    } else if (string_at(*lease, {"spec", "holderIdentity"}) != adoption_holder(ns) ||
               int_at(*lease, {"spec", "leaseDurationSeconds"}) != kForGood) {
      step.changes.push_back(merge_patch(
          *lease,
          {{"metadata", {{"resourceVersion", string_at(*lease, {"metadata", "resourceVersion"})}}}, {"spec", spec}}));
    }
  }
  step.done = step.changes.empty();
  return step;
}

AdoptionStep unhook_step(const Component& component, const FoundComponent& found) {
  AdoptionStep step{.name = "remove-webhooks",
                    .sentence = "remove the webhooks and the aggregated API of " + std::string(component.title)};
  for (const json* object : removed_objects(found)) step.changes.push_back(remove(*object));
  step.done = step.changes.empty();
  return step;
}

bool leads(const ClusterDump& state, const AdoptionOptions& options) {
  const json* lease = state.find("coordination.k8s.io", "Lease", options.muster_namespace, manifests::kLeaseName);
  return lease != nullptr && runtime::is_muster_identity(string_at(*lease, {"spec", "holderIdentity"}));
}

bool converts(const json& definition, const AdoptionOptions& options) {
  if (string_at(definition, {"spec", "conversion", "strategy"}) != "Webhook") return false;
  const json& config = object_at(definition, {"spec", "conversion", "webhook", "clientConfig"});
  const std::string_view ns = string_at(config, {"service", "namespace"});
  return !string_at(config, {"caBundle"}).empty() && (ns.empty() || ns == options.muster_namespace);
}

bool is_converted(std::string_view name) {
  return std::find(manifests::kConvertedDefinitionNames.begin(), manifests::kConvertedDefinitionNames.end(), name) !=
         manifests::kConvertedDefinitionNames.end();
}

bool is_injected(const ClusterDump& state) {
  for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
    const json* own = state.find("admissionregistration.k8s.io", kind, "", manifests::kWebhookConfigurationName);
    if (own == nullptr) return false;
    const json& webhooks = array_at(*own, {"webhooks"});
    if (std::any_of(webhooks.begin(), webhooks.end(), [](const json& webhook) {
          return string_at(webhook, {"clientConfig", "caBundle"}).empty();
        }))
      return false;
  }
  return true;
}

AdoptionStep muster_step(const ClusterDump& state, const AdoptionOptions& options) {
  const auto definitions = taken_definitions(state, kueue_component());
  const json* deployment = muster_deployment(state, options.muster_namespace);
  const bool converting = std::all_of(definitions.begin(), definitions.end(), [&](const json* definition) {
    return !is_converted(string_at(*definition, {"metadata", "name"})) || converts(*definition, options);
  });
  return {.name = "await-muster",
          .sentence = "wait until muster leads, is ready, answers its webhooks and converts old versions",
          .done = leads(state, options) && is_injected(state) && converting && deployment != nullptr &&
                  int_at(*deployment, {"status", "readyReplicas"}).value_or(0) > 0};
}

void add_storage_steps(const ClusterDump& state, std::vector<AdoptionStep>& steps) {
  AdoptionStep store{.name = "store-v1beta2", .sentence = "store new writes as v1beta2"};
  // An API server hears of a changed definition within a second or so.
  store.settle = std::chrono::seconds(5);
  AdoptionStep rewrite{.name = "rewrite", .sentence = "rewrite what is stored as v1beta1"};
  for (const json* definition : taken_definitions(state, kueue_component())) {
    if (storage_version(*definition) != "v1beta2")
      store.changes.push_back(merge_patch(
          *definition, {{"metadata", {{"resourceVersion", string_at(*definition, {"metadata", "resourceVersion"})}}},
                        {"spec", {{"versions", versions_storing(*definition, "v1beta2")}}}}));
    if (strings_at(*definition, {"status", "storedVersions"}) == std::vector<std::string>{"v1beta2"}) continue;
    const json& names = object_at(*definition, {"spec", "names"});
    rewrite.rewrites.push_back({"kueue.x-k8s.io", "v1beta2", std::string(string_at(names, {"plural"})),
                                string_at(*definition, {"spec", "scope"}) == "Namespaced",
                                std::string(string_at(names, {"kind"}))});
    rewrite.changes.push_back(merge_patch(*definition, {{"status", {{"storedVersions", {"v1beta2"}}}}}, "status"));
  }
  store.done = store.changes.empty();
  rewrite.done = rewrite.rewrites.empty();
  steps.push_back(std::move(store));
  steps.push_back(std::move(rewrite));
}

// At its start muster detects which controller runs JobSets.
void add_restart_steps(const ClusterDump& state, const AdoptionOptions& options, std::vector<AdoptionStep>& steps) {
  constexpr const char* kMark = "muster.batch/adopted";
  const json* deployment = muster_deployment(state, options.muster_namespace);
  const json* record = record_of(state, options);
  const std::string mark = "jobset-" + std::string(record == nullptr ? "" : string_at(*record, {"metadata", "uid"}));
  AdoptionStep restart{.name = "restart-muster", .sentence = "restart muster, so that it runs JobSets itself"};
  AdoptionStep rollout{.name = "await-rollout", .sentence = "wait until all of muster's pods have been replaced"};
  if (deployment != nullptr) {
    restart.done = string_at(*deployment, {"spec", "template", "metadata", "annotations", kMark}) == mark;
    const json patch = {{"spec", {{"template", {{"metadata", {{"annotations", {{kMark, mark}}}}}}}}}};
    if (!restart.done) restart.changes = {merge_patch(*deployment, patch)};
    const int64_t wanted = int_at(*deployment, {"spec", "replicas"}).value_or(1);
    const json& status = object_at(*deployment, {"status"});
    rollout.done = int_at(status, {"observedGeneration"}) == int_at(*deployment, {"metadata", "generation"}) &&
                   int_at(status, {"updatedReplicas"}).value_or(0) == wanted &&
                   int_at(status, {"replicas"}).value_or(0) == wanted &&
                   int_at(status, {"readyReplicas"}).value_or(0) == wanted;
  }
  steps.push_back(std::move(restart));
  steps.push_back(std::move(rollout));
}

// With a record, only the objects in the record are used.
void keep_recorded(const json& record, FoundComponent& found) {
  if (record.is_null()) return;
  std::erase_if(found.deployments, [&](const json* deployment) {
    const json& kept = array_at(record, {"deployments"});
    return std::none_of(kept.begin(), kept.end(), [&](const json& was) {
      return string_at(was, {"namespace"}) == string_at(*deployment, {"metadata", "namespace"}) &&
             string_at(was, {"name"}) == string_at(*deployment, {"metadata", "name"});
    });
  });
}

void add_component(const ClusterDump& state, const AdoptionOptions& options, const Component& component,
                   std::vector<AdoptionStep>& steps) {
  FoundComponent found = find_component(state, component);
  keep_recorded(recorded(state, options, std::string(component.label)), found);
  const bool is_kueue = component.label == "kueue";
  steps.push_back(record_step(state, options, component, found));
  steps.push_back(definitions_step(state, component));
  if (is_kueue) steps.push_back(register_step(state, options));
  add_scale_down(state, found.deployments, std::string(component.title), steps);
  steps.push_back(lease_step(state, component, namespaces_of(found.deployments)));
  steps.push_back(unhook_step(component, found));
  if (is_kueue) {
    steps.push_back(muster_step(state, options));
    add_storage_steps(state, steps);
  } else {
    add_restart_steps(state, options, steps);
  }
}

// Before anything is changed: with muster's webhooks and without muster, jobs with a queue are refused.
AdoptionStep start_step(const ClusterDump& state, const AdoptionOptions& options) {
  const json* deployment = muster_deployment(state, options.muster_namespace);
  const auto pods = deployment == nullptr ? std::vector<const json*>() : pods_of(state, *deployment);
  return {.name = "await-start",
          .sentence = "wait until a pod of muster runs",
          .done = std::any_of(pods.begin(), pods.end(), [](const json* pod) { return runs(*pod); })};
}

}  // namespace

std::vector<AdoptionStep> adoption_steps(const ClusterDump& state, const AdoptionOptions& options) {
  std::vector<AdoptionStep> steps;
  for (const Component* component : {&kueue_component(), &jobset_component()}) {
    const FoundComponent found = find_component(state, *component);
    const bool there = !found.deployments.empty() || !removed_objects(found).empty() ||
                       !recorded(state, options, std::string(component->label)).is_null();
    if (!there || (component->label == "jobset" && !options.jobset)) continue;
    if (steps.empty()) steps.push_back(start_step(state, options));
    add_component(state, options, *component, steps);
  }
  return steps;
}

}  // namespace muster::commands
