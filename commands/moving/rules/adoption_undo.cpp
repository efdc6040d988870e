// The way back: muster stops first, then everything is as it was, then Kueue starts.
#include <algorithm>

#include "api/codec/json.h"
#include "commands/moving/rules/adoption.h"
#include "commands/moving/rules/adoption_parts.h"
#include "commands/moving/rules/definitions.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// The merge patch that changes one value into the other: fields to remove are null.
json difference(const json& live, const json& wanted) {
  if (!live.is_object() || !wanted.is_object()) return wanted;
  json patch = wanted;
  for (auto it = live.begin(); it != live.end(); ++it)
    patch[it.key()] = wanted.contains(it.key()) ? difference(it.value(), wanted[it.key()]) : json();
  return patch;
}

AdoptionStep definitions_step(const ClusterDump& state, const json& kept) {
  AdoptionStep step{.name = "definitions",
                    .sentence = "give the definitions their conversion and label back; fields that were added stay"};
  for (const auto& [name, was] : object_at(kept, {"definitions"}).items()) {
    const json* live = state.find("apiextensions.k8s.io", "CustomResourceDefinition", "", name);
    if (live == nullptr) continue;
    json wanted = *live;
    wanted["spec"]["conversion"] = was["conversion"];
    const std::string storage(string_at(was, {"storage"}));
    if (!storage.empty()) wanted["spec"]["versions"] = versions_storing(*live, storage);
    if (wanted["metadata"]["labels"].is_null()) wanted["metadata"]["labels"] = json::object();
    json& labels = wanted["metadata"]["labels"];
    if (was["label"].is_string())
      labels[std::string(manifests::kAppNameLabel)] = was["label"];
    else
      labels.erase(std::string(manifests::kAppNameLabel));
    if (wanted["spec"] == (*live)["spec"] && labels == object_at(*live, {"metadata", "labels"})) continue;
    step.changes.push_back(merge_patch(
        *live, {{"metadata",
                 {{"resourceVersion", string_at(*live, {"metadata", "resourceVersion"})},
                  {"labels", difference(object_at(*live, {"metadata", "labels"}), labels)}}},
                {"spec",
                 {{"versions", wanted["spec"]["versions"]},
                  {"conversion", difference(object_at(*live, {"spec", "conversion"}), was["conversion"])}}}}));
  }
  step.done = step.changes.empty();
  return step;
}

AdoptionStep objects_step(const ClusterDump& state, const Component& component, const json& kept) {
  AdoptionStep step{.name = "restore-webhooks",
                    .sentence = "register the webhooks of " + std::string(component.title) + " again"};
  for (const json& object : array_at(kept, {"objects"})) {
    const kube::Resource resource = resource_for(object);
    if (state.find(resource.group, resource.kind, "", string_at(object, {"metadata", "name"})) == nullptr)
      step.changes.push_back(create(object));
  }
  step.done = step.changes.empty();
  return step;
}

AdoptionStep lease_step(const ClusterDump& state, const Component& component, const json& kept) {
  AdoptionStep step{.name = "release-lease", .sentence = "let go of " + std::string(component.title) + "'s Lease"};
  for (const json& deployment : array_at(kept, {"deployments"})) {
    const std::string ns(string_at(deployment, {"namespace"}));
    const json* lease = state.find("coordination.k8s.io", "Lease", ns, component.lease);
    if (lease == nullptr || string_at(*lease, {"spec", "holderIdentity"}) != adoption_holder(ns)) continue;
    step.changes.push_back(merge_patch(*lease, {{"spec", {{"holderIdentity", ""}, {"leaseDurationSeconds", 1}}}}));
  }
  step.done = step.changes.empty();
  return step;
}

AdoptionStep own_webhooks_step(const ClusterDump& state) {
  AdoptionStep step{.name = "remove-own-webhooks", .sentence = "remove muster's webhooks"};
  for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
    const json* own = state.find("admissionregistration.k8s.io", kind, "", manifests::kWebhookConfigurationName);
    if (own != nullptr) step.changes.push_back(remove(*own));
  }
  step.done = step.changes.empty();
  return step;
}

void add_scale_up(const ClusterDump& state, const Component& component, const json& kept,
                  std::vector<AdoptionStep>& steps) {
  const std::string title(component.title);
  AdoptionStep scale{.name = "scale-up", .sentence = "start " + title + " again"};
  AdoptionStep ready{.name = "await-ready", .sentence = "wait until " + title + " is ready", .done = true};
  for (const json& was : array_at(kept, {"deployments"})) {
    const json* live = state.find("apps", "Deployment", string_at(was, {"namespace"}), string_at(was, {"name"}));
    if (live == nullptr) continue;
    const int64_t replicas = int_at(was, {"replicas"}).value_or(1);
    if (int_at(*live, {"spec", "replicas"}).value_or(1) != replicas)
      scale.changes.push_back(merge_patch(*live, {{"spec", {{"replicas", replicas}}}}));
    if (replicas > 0 && int_at(*live, {"status", "readyReplicas"}).value_or(0) == 0) ready.done = false;
  }
  scale.done = scale.changes.empty();
  steps.push_back(std::move(scale));
  steps.push_back(std::move(ready));
}

}  // namespace

std::vector<AdoptionStep> undo_steps(const ClusterDump& state, const AdoptionOptions& options) {
  std::vector<AdoptionStep> steps;
  const json* record = record_of(state, options);
  if (record == nullptr) return steps;
  std::vector<const json*> muster;
  if (const json* deployment = muster_deployment(state, options.muster_namespace)) muster.push_back(deployment);
  add_scale_down(state, muster, "muster", steps);
  const Component* components[] = {&kueue_component(), &jobset_component()};
  for (const Component* component : components) {
    const json kept = recorded(state, options, std::string(component->label));
    if (kept.is_null()) continue;
    steps.push_back(definitions_step(state, kept));
    steps.push_back(objects_step(state, *component, kept));
    steps.push_back(lease_step(state, *component, kept));
  }
  steps.push_back(own_webhooks_step(state));
  for (const Component* component : components) {
    const json kept = recorded(state, options, std::string(component->label));
    if (!kept.is_null()) add_scale_up(state, *component, kept, steps);
  }
  steps.push_back({.name = "forget", .sentence = "delete the record of the move", .changes = {remove(*record)}});
  return steps;
}

}  // namespace muster::commands
