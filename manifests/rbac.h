// What muster can do in a cluster, and nothing more: read the kinds that it watches
// (kinds/watched_kinds.h), write what its reconcilers write, keep its own Secret, Lease and
// two webhook configurations, ask who can read the metrics, and read its own Pod. Which
// of these it needs depends on its configuration, and so do the rights. Pure.
//
// What RBAC cannot say of these rights is in a policy (own_account.h).
//
// test/cluster/security/rights_life_test.go holds these rules against the requests that muster makes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/configuration.h"
#include "manifests/names.h"

namespace muster::manifests {

struct RightsOptions {
  // muster can come to be the JobSet controller, or to stand beside another one. Both are
  // to be reckoned with where that is found out at start.
  bool native_jobsets = true;
  bool external_jobsets = true;
  // Jobs and JobSets can start as a group.
  bool group_scheduling = true;
  // Names of the definitions of kinds that the configuration itself describes.
  std::vector<std::string> own_kinds{};
  // integrations.frameworks: of the kinds that are described only these are watched.
  std::set<std::string, std::less<>> frameworks{};
  // Beside another controller: keep spec.groupSchedulingConfig in its CRD.
  bool patches_jobset_definition = true;
  // muster keeps the actions of its admission policy as its configuration says (unqueuedKinds,
  // integrations.externalFrameworks).
  bool keeps_policy = false;
  // Fair sharing: Cohorts show their share.
  bool writes_cohorts = false;
  // An eviction says why pods were late (podReasons): Events are listed for it.
  bool reads_events = true;
  // Nodes, and all pods on them, are watched (watchNodes).
  bool watches_nodes = false;
  // The visibility API is aggregated: muster keeps the CA bundle of its APIServices, and reads by which certificate the
  // API server is to be known.
  bool aggregated_visibility = false;
  // The Secret that holds the certificates; empty: another program makes them.
  std::string secret{kCertificateSecretName};
  // The leader's Lease; an empty name: no leader is elected. An empty namespace: muster's own.
  std::string lease{kLeaseName}, lease_namespace{};
};

// Those that a muster with this configuration needs.
RightsOptions rights_for(const LoadedConfiguration& configuration);

// ServiceAccount, ClusterRole and Roles with their bindings, and the ClusterRole that
// whoever scrapes the metrics needs; and the Role of those who can reach `muster explain`
// through the API server, which a RoleBinding gives to whom it should.
//
// create cannot be limited by name, so muster can create any Secret in its own
// namespace, but read and change only the one. Listing and watching by name work
// with the field selector metadata.name, which muster uses.
std::vector<nlohmann::json> rbac_objects(std::string_view own_namespace, const RightsOptions& options);

}  // namespace muster::manifests
