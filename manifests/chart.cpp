#include "manifests/chart.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"
#include "api/kinds/kind_description.h"
#include "manifests/catalog.h"
#include "manifests/user_roles.h"

namespace muster {
namespace {

using nlohmann::json;

struct Mode {
  std::string_view name;
  bool native, external;
};
constexpr std::array kModes = {Mode{"auto", true, true}, Mode{"native", true, false}, Mode{"external", false, true}};

ManifestOptions options_of(const Mode& mode, bool groups) {
  ManifestOptions options;
  options.registration.own_namespace = kChartNamespace;
  options.registration.group_scheduling = groups;
  // As `muster manifests`: who runs JobSets is found out at start where the mode is auto.
  options.registration.every_jobset = !mode.external;
  options.rights.native_jobsets = mode.native;
  options.rights.external_jobsets = mode.external;
  options.rights.group_scheduling = groups;
  options.rights.patches_jobset_definition = false;
  return options;
}

bool is_own_cluster_role(const json& object) {
  return string_at(object, {"kind"}) == "ClusterRole" && string_at(object, {"metadata", "name"}) == kServiceAccountName;
}

json cluster_rules(const ManifestOptions& options) {
  for (const json& object : rbac_objects(kChartNamespace, options.rights)) {
    if (is_own_cluster_role(object)) return object.at("rules");
  }
  return json::array();
}

// What a setting adds. Rights only add up, so a rule that grew is given as a whole.
json further_rules(ManifestOptions options, bool RightsOptions::*setting) {
  const json before = cluster_rules(options);
  options.rights.*setting = true;
  json added = json::array();
  for (json& rule : cluster_rules(options)) {
    const auto is_rule = [&rule](const json& other) { return other == rule; };
    if (std::none_of(before.begin(), before.end(), is_rule)) added.push_back(std::move(rule));
  }
  return added;
}

}  // namespace

json chart_tables() {
  const ManifestOptions usual = options_of(kModes[0], true);
  json tables;
  tables["crds"] = json::array();
  for (json& definition : manifests(ManifestSet::kCrds, usual)) {
    if (string_at(definition, {"metadata", "name"}) == kJobSetDefinitionName)
      tables["jobsetCrd"] = std::move(definition);
    else
      tables["crds"].push_back(std::move(definition));
  }
  tables["rbac"] = rbac_objects(kChartNamespace, usual.rights);
  for (json& object : tables["rbac"]) {
    if (is_own_cluster_role(object)) object.erase("rules");
  }
  for (const Mode& mode : kModes) {
    for (const bool groups : {true, false}) {
      const std::string name = std::string(mode.name) + (groups ? "" : "-without-groups");
      const ManifestOptions options = options_of(mode, groups);
      tables["clusterRules"][name] = cluster_rules(options);
      tables["furtherRules"][name] = {
          {"deletesDeactivated", further_rules(options, &RightsOptions::deletes_deactivated)},
          {"keepsPolicy", further_rules(options, &RightsOptions::keeps_policy)},
          {"patchesJobSetDefinition", further_rules(options, &RightsOptions::patches_jobset_definition)},
          {"writesCohorts", further_rules(options, &RightsOptions::writes_cohorts)}};
      tables["webhooks"][name] = manifests(ManifestSet::kWebhooks, options);
    }
  }
  tables["describedFrameworks"] = json::array();
  for (const KindDescriptionPtr& kind : described_kinds()) tables["describedFrameworks"].push_back(kind->framework);
  tables["userRoles"] = user_roles();
  tables["policies"] = manifests(ManifestSet::kPolicies, usual);
  tables["namespaced"] = json::array();
  for (json& object : manifests(ManifestSet::kDeployment, usual)) {
    if (string_at(object, {"kind"}) != "Namespace") tables["namespaced"].push_back(std::move(object));
  }
  return tables;
}

}  // namespace muster
