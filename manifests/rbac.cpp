#include "manifests/rbac.h"

#include <map>
#include <nlohmann/json.hpp>

#include "api/watched_kinds.h"
#include "manifests/names.h"

namespace muster {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

constexpr std::string_view kRbacApi = "rbac.authorization.k8s.io";

json object(std::string_view api_version, std::string_view kind, std::string_view name, std::string_view ns = {}) {
  json made = {{"apiVersion", api_version},
               {"kind", kind},
               {"metadata", {{"name", name}, {"labels", {{kAppNameLabel, kAppName}}}}}};
  if (!ns.empty()) made["metadata"]["namespace"] = ns;
  return made;
}

json rule(const Texts& groups, const Texts& resources, const Texts& verbs, const Texts& names = {}) {
  json made = {{"apiGroups", groups}, {"resources", resources}, {"verbs", verbs}};
  if (!names.empty()) made["resourceNames"] = names;
  return made;
}

// What is watched may be read, each kind once; single objects only by their names.
json reading_rules() {
  std::map<std::string, Texts> resources;
  for (const WatchedKind& kind : watched_kinds()) {
    if (kind.field_selector.empty()) resources[std::string(kind.type->group)].emplace_back(kind.type->plural);
  }
  json rules = json::array();
  for (const auto& [group, plurals] : resources) rules.push_back(rule({group}, plurals, {"get", "list", "watch"}));
  return rules;
}

// What the reconcilers write. RBAC cannot name labels: that muster touches only what
// belongs to queues, gangs and JobSets is in docs/threat-model.md, and in tests.
void add_writing_rules(json& rules) {
  rules.push_back(rule({""}, {"configmaps"}, {"create", "patch", "delete"}));
  rules.push_back(rule({""}, {"services"}, {"create"}));
  rules.push_back(rule({""}, {"pods"}, {"patch"}));
  rules.push_back(rule({"batch"}, {"jobs"}, {"create", "patch", "delete"}));
  rules.push_back(rule({"batch"}, {"jobs/status"}, {"patch"}));
  rules.push_back(rule({"batch"}, {"jobs/finalizers"}, {"update"}));
  rules.push_back(rule({"jobset.x-k8s.io"}, {"jobsets"}, {"patch", "delete"}));
  rules.push_back(rule({"jobset.x-k8s.io"}, {"jobsets/status"}, {"patch"}));
  // Children that hold up their JobSet's deletion, and OwnerReferencesPermissionEnforcement.
  rules.push_back(rule({"jobset.x-k8s.io"}, {"jobsets/finalizers"}, {"update"}));
  rules.push_back(rule({"kueue.x-k8s.io"}, {"workloads"}, {"create", "patch", "delete"}));
  rules.push_back(
      rule({"kueue.x-k8s.io"}, {"workloads/status", "clusterqueues/status", "localqueues/status"}, {"patch"}));
  // Their finalizers.
  rules.push_back(rule({"kueue.x-k8s.io"}, {"clusterqueues", "resourceflavors", "admissionchecks"}, {"patch"}));
  rules.push_back(rule({"events.k8s.io"}, {"events"}, {"create", "patch"}));
}

// The JobSet definition for its gang field, the others for their conversion's CA bundle.
Texts definition_names() {
  Texts names = {std::string(kJobSetDefinitionName)};
  names.insert(names.end(), kConvertedDefinitionNames.begin(), kConvertedDefinitionNames.end());
  return names;
}

json cluster_rules() {
  json rules = reading_rules();
  add_writing_rules(rules);
  rules.push_back(rule({"apiextensions.k8s.io"}, {"customresourcedefinitions"}, {"get", "list", "watch", "patch"},
                       definition_names()));
  rules.push_back(rule({"admissionregistration.k8s.io"},
                       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
                       {"get", "list", "watch", "patch", "update"}, {std::string(kWebhookConfigurationName)}));
  // Is another JobSet controller at work?
  rules.push_back(rule({"admissionregistration.k8s.io"}, {"validatingwebhookconfigurations"}, {"get"},
                       {std::string(kForeignJobSetWebhooks)}));
  rules.push_back(rule({"coordination.k8s.io"}, {"leases"}, {"get"}, {std::string(kForeignJobSetLease)}));
  rules.push_back(rule({"authentication.k8s.io"}, {"tokenreviews"}, {"create"}));
  rules.push_back(rule({"authorization.k8s.io"}, {"subjectaccessreviews"}, {"create"}));
  return rules;
}

json binding(std::string_view kind, std::string_view role_kind, std::string_view own_namespace) {
  json made = object(std::string(kRbacApi) + "/v1", kind, kServiceAccountName,
                     kind == "RoleBinding" ? own_namespace : std::string_view());
  made["roleRef"] = {{"apiGroup", kRbacApi}, {"kind", role_kind}, {"name", kServiceAccountName}};
  made["subjects"] =
      json::array({{{"kind", "ServiceAccount"}, {"name", kServiceAccountName}, {"namespace", own_namespace}}});
  return made;
}

}  // namespace

std::vector<json> rbac_objects(std::string_view own_namespace, std::string_view secret) {
  const std::string version = std::string(kRbacApi) + "/v1";
  json cluster_role = object(version, "ClusterRole", kServiceAccountName);
  cluster_role["rules"] = cluster_rules();
  json role = object(version, "Role", kServiceAccountName, own_namespace);
  role["rules"] = {rule({""}, {"secrets"}, {"get", "update", "patch"}, {std::string(secret)}),
                   rule({""}, {"secrets"}, {"create"}), rule({""}, {"pods"}, {"get"}),
                   // The leader's; its name is a setting.
                   rule({"coordination.k8s.io"}, {"leases"}, {"get", "create", "update"})};
  json reader = object(version, "ClusterRole", kMetricsReaderRoleName);
  reader["rules"] = json::array({{{"nonResourceURLs", {"/metrics"}}, {"verbs", {"get"}}}});
  // The API server's proxy to the one Service, by port name as `muster explain` spells it.
  // What may be read there is asked of the API server for every request.
  json viewer = object(version, "Role", kExplainViewerRoleName, own_namespace);
  viewer["rules"] = {rule({""}, {"services/proxy"}, {"get"},
                          {"https:" + std::string(kMetricsServiceName) + ":" + std::string(kMetricsPortName)})};
  return {object("v1", "ServiceAccount", kServiceAccountName, own_namespace),
          std::move(cluster_role),
          binding("ClusterRoleBinding", "ClusterRole", own_namespace),
          std::move(role),
          binding("RoleBinding", "Role", own_namespace),
          std::move(reader),
          std::move(viewer)};
}

}  // namespace muster
