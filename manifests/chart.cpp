#include "manifests/chart.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "manifests/catalog.h"
#include "manifests/user_roles.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

struct Mode {
  std::string_view name;
  bool native, external;
};
constexpr std::array kModes = {Mode{"auto", true, true}, Mode{"native", true, false}, Mode{"external", false, true}};

ManifestOptions options_of(const Mode& mode, bool groups) {
  ManifestOptions options;
  // The template decides (crds.v1beta1).
  options.serves_v1beta1 = true;
  options.registration.own_namespace = kChartNamespace;
  options.registration.group_scheduling = groups;
  // As `muster manifests`: who runs JobSets is found out at start where the mode is auto.
  options.registration.every_jobset = !mode.external;
  options.rights.native_jobsets = mode.native;
  options.rights.external_jobsets = mode.external;
  options.rights.group_scheduling = groups;
  options.rights.patches_jobset_definition = false;
  options.rights.reads_events = false;
  // The templates leave out what belongs to integrations that are not enabled.
  for (const KindDescriptionPtr& kind : described_kinds()) {
    options.registration.frameworks.insert(kind->framework);
    options.rights.frameworks.insert(kind->framework);
  }
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (!kind->is_serving()) continue;
    options.registration.frameworks.emplace(kind->framework);
    options.rights.frameworks.emplace(kind->framework);
  }
  // Not so what muster can do with pods, which gangs have too: these rights are in furtherRules.
  options.registration.frameworks.emplace(jobs::plain_pod.framework);
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
json further_rules(ManifestOptions options, const std::function<void(RightsOptions&)>& set) {
  const json before = cluster_rules(options);
  set(options.rights);
  json added = json::array();
  for (json& rule : cluster_rules(options)) {
    const auto is_rule = [&rule](const json& other) { return other == rule; };
    if (std::none_of(before.begin(), before.end(), is_rule)) added.push_back(std::move(rule));
  }
  return added;
}

json further_rules(const ManifestOptions& options, bool RightsOptions::*setting) {
  return further_rules(options, [&](RightsOptions& rights) { rights.*setting = true; });
}

// "group/resource" -> the integration that it is for.
json described_resources() {
  json resources = json::object();
  for (const KindDescriptionPtr& kind : described_kinds()) {
    resources[kind->group + "/" + kind->plural] = kind->framework;
    for (const ConsultedKind& consulted : kind->consulted)
      resources[consulted.group + "/" + consulted.plural] = kind->framework;
  }
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (kind->is_serving())
      resources[std::string(kind->type.group) + "/" + std::string(kind->type.plural)] = kind->framework;
  }
  return resources;
}

// What is there beside the rules: the binding to read the API server's ConfigMap, and the APIServices with the port
// that is Kueue's default.
json aggregated_visibility(ManifestOptions options) {
  options.registration.visibility_port = VisibilityServerSettings().bind_port;
  options.rights.aggregated_visibility = true;
  json binding;
  for (json& object : rbac_objects(kChartNamespace, options.rights)) {
    if (string_at(object, {"metadata", "name"}) == kAuthenticationReaderBindingName) binding = std::move(object);
  }
  return {{"binding", std::move(binding)},
          {"apiServices", manifests(ManifestSet::kApiServices, options)},
          {"flowControl", manifests(ManifestSet::kVisibilityFlowControl, options)}};
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
          {"keepsPolicy", further_rules(options, &RightsOptions::keeps_policy)},
          {"queuesPods",
           further_rules(options, [](RightsOptions& rights) { rights.frameworks.emplace(jobs::plain_pod.framework); })},
          {"patchesJobSetDefinition", further_rules(options, &RightsOptions::patches_jobset_definition)},
          {"readsEvents", further_rules(options, &RightsOptions::reads_events)},
          {"watchesNodes", further_rules(options, &RightsOptions::watches_nodes)},
          {"writesCohorts", further_rules(options, &RightsOptions::writes_cohorts)},
          {"aggregatedVisibility", further_rules(options, &RightsOptions::aggregated_visibility)}};
      tables["webhooks"][name] = manifests(ManifestSet::kWebhooks, options);
    }
  }
  tables["aggregatedVisibility"] = aggregated_visibility(usual);
  tables["describedResources"] = described_resources();
  tables["userRoles"] = user_roles();
  tables["policies"] = manifests(ManifestSet::kPolicies, usual);
  tables["leanWorkloads"] = manifests(ManifestSet::kLeanWorkloads, usual);
  tables["namespaced"] = json::array();
  for (json& object : manifests(ManifestSet::kDeployment, usual)) {
    if (string_at(object, {"kind"}) != "Namespace") tables["namespaced"].push_back(std::move(object));
  }
  return tables;
}

}  // namespace muster::manifests
