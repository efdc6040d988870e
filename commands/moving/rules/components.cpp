#include "commands/moving/rules/components.h"

#include <algorithm>
#include <set>

#include "api/codec/json.h"
#include "manifests/names.h"
#include "runtime/kueue/kueue_presence.h"

namespace muster::commands {
namespace {

using nlohmann::json;

bool is_named(const json& object, const std::vector<std::string_view>& names) {
  const std::string_view name = string_at(object, {"metadata", "name"});
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<const json*> named(const std::vector<const json*>& objects, const std::vector<std::string_view>& names) {
  std::vector<const json*> found;
  for (const json* object : objects) {
    if (is_named(*object, names)) found.push_back(object);
  }
  return found;
}

// Its own Deployment, or the Deployment of a Helm release; not the viewer or the populator that Kueue's chart
// can add.
bool is_deployment_of(const json& deployment, const Component& component) {
  const std::string_view name = string_at(deployment, {"metadata", "name"});
  if (name == component.deployment) return true;
  return label(deployment, manifests::kAppNameLabel) == component.label && name.ends_with("controller-manager");
}

// Every user can create a Deployment with this name in some namespace. Only an administrator can write the
// webhook configurations, which contain the namespace of the real one.
void keep_where_webhooks_lead(FoundComponent& found) {
  std::set<std::string_view> namespaces;
  for (const std::vector<const json*>* configurations : {&found.mutating, &found.validating}) {
    for (const json* configuration : *configurations) {
      for (const json& webhook : array_at(*configuration, {"webhooks"}))
        namespaces.insert(string_at(webhook, {"clientConfig", "service", "namespace"}));
    }
  }
  namespaces.erase("");
  if (namespaces.empty()) return;
  std::erase_if(found.deployments, [&](const json* deployment) {
    return !namespaces.contains(string_at(*deployment, {"metadata", "namespace"}));
  });
}

const json* config_map_named(const ClusterDump& dump, std::string_view end_of_name) {
  for (const json* map : dump.of_kind("", "ConfigMap")) {
    if (string_at(*map, {"metadata", "name"}).ends_with(end_of_name) &&
        object_at(*map, {"data"}).contains(kKueueConfigKey))
      return map;
  }
  return nullptr;
}

}  // namespace

const Component& kueue_component() {
  static const Component kKueue = {
      .title = "Kueue",
      .label = "kueue",
      .deployment = manifests::kKueueAccount,
      .lease = manifests::kKueueLeaseName,
      .group = "kueue.x-k8s.io",
      .mutating = {manifests::kKueueMutatingWebhooks},
      .validating = {manifests::kKueueValidatingWebhooks},
      .api_services = {"v1beta1.visibility.kueue.x-k8s.io", "v1beta2.visibility.kueue.x-k8s.io"}};
  return kKueue;
}

const Component& jobset_component() {
  static const Component kJobSet = {.title = "JobSet",
                                    .label = "jobset",
                                    .deployment = manifests::kForeignJobSetAccount,
                                    .lease = manifests::kForeignJobSetLease,
                                    .group = "jobset.x-k8s.io",
                                    .mutating = {"jobset-mutating-webhook-configuration"},
                                    .validating = {manifests::kForeignJobSetWebhooks},
                                    .api_services = {}};
  return kJobSet;
}

FoundComponent find_component(const ClusterDump& dump, const Component& component) {
  FoundComponent found;
  for (const json* deployment : dump.of_kind("apps", "Deployment")) {
    if (is_deployment_of(*deployment, component)) found.deployments.push_back(deployment);
  }
  for (const json* lease : dump.of_kind("coordination.k8s.io", "Lease")) {
    if (string_at(*lease, {"metadata", "name"}) == component.lease && is_held_by_others(*lease))
      found.leases.push_back(lease);
  }
  const std::string_view group = "admissionregistration.k8s.io";
  found.mutating = named(dump.of_kind(group, "MutatingWebhookConfiguration"), component.mutating);
  found.validating = named(dump.of_kind(group, "ValidatingWebhookConfiguration"), component.validating);
  found.api_services = named(dump.of_kind("apiregistration.k8s.io", "APIService"), component.api_services);
  // muster's have the same names.
  std::erase_if(found.api_services,
                [](const json* service) { return label(*service, manifests::kAppNameLabel) == manifests::kAppName; });
  keep_where_webhooks_lead(found);
  for (const json* definition : dump.of_kind("apiextensions.k8s.io", "CustomResourceDefinition")) {
    if (string_at(*definition, {"spec", "group"}) == component.group) found.definitions.push_back(definition);
  }
  return found;
}

const json* kueue_config_map(const ClusterDump& dump) {
  return config_map_named(dump, "kueue-manager-config");
}

const json* jobset_config_map(const ClusterDump& dump) {
  return config_map_named(dump, "jobset-manager-config");
}

bool is_held_by_others(const json& lease) {
  const std::string_view holder = string_at(lease, {"spec", "holderIdentity"});
  return !holder.empty() && !runtime::is_muster_identity(holder);
}

}  // namespace muster::commands
