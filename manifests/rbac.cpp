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
               {"metadata", {{"name", name}, {"labels", {{"app.kubernetes.io/name", "muster"}}}}}};
  if (!ns.empty()) made["metadata"]["namespace"] = ns;
  return made;
}

json rule(const Texts& groups, const Texts& resources, const Texts& verbs, const Texts& names = {}) {
  json made = {{"apiGroups", groups}, {"resources", resources}, {"verbs", verbs}};
  if (!names.empty()) made["resourceNames"] = names;
  return made;
}

json cluster_rules() {
  std::map<std::string, Texts> resources;
  for (const WatchedKind& kind : watched_kinds()) resources[std::string(kind.group)].emplace_back(kind.plural);
  json rules = json::array();
  for (const auto& [group, plurals] : resources) rules.push_back(rule({group}, plurals, {"get", "list", "watch"}));
  rules.push_back(rule({"admissionregistration.k8s.io"},
                       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
                       {"get", "list", "watch", "patch", "update"}, {std::string(kWebhookConfigurationName)}));
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
                   rule({""}, {"secrets"}, {"create"}), rule({""}, {"pods"}, {"get"})};
  json reader = object(version, "ClusterRole", kMetricsReaderRoleName);
  reader["rules"] = json::array({{{"nonResourceURLs", {"/metrics"}}, {"verbs", {"get"}}}});
  return {object("v1", "ServiceAccount", kServiceAccountName, own_namespace),
          std::move(cluster_role),
          binding("ClusterRoleBinding", "ClusterRole", own_namespace),
          std::move(role),
          binding("RoleBinding", "Role", own_namespace),
          std::move(reader)};
}

}  // namespace muster
