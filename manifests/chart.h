// What the Helm chart in manifests/charts/muster takes from muster's tables: the objects of `muster manifests`, in each
// form that the chart's values can ask for, with a placeholder in the place of the namespace. Its templates choose
// among these and fit them to the values. Pure.
//
// manifests/charts/muster/files/tables.yaml is this; a test compares.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace muster::manifests {

// The templates put the release's namespace in its place.
inline constexpr std::string_view kChartNamespace = "release-namespace";

// Keys:
//   crds, jobsetCrd                the definitions; the list is without JobSet
//   rbac                           muster's account, roles and bindings; its ClusterRole has no rules yet
//   clusterRules.<mode>            rules of that ClusterRole; a mode is auto, native or external, with
//                                  "-without-groups" where groupScheduling is off
//   furtherRules.<mode>.<setting>  what a setting adds to them
//   userRoles, policies            lists
//   leanWorkloads                  list, for API servers that know its kinds
//   webhooks.<mode>                as clusterRules; both configurations
//   aggregatedVisibility           binding, apiServices and flowControl, where the visibility API is aggregated
//   namespaced                     ConfigMap, Services, NetworkPolicy, Deployment, PodDisruptionBudget
nlohmann::json chart_tables();

}  // namespace muster::manifests
