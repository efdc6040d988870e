#include "manifests/rbac.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/reader_session.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "kinds/watched_kinds.h"
#include "manifests/api_services.h"
#include "manifests/names.h"

namespace muster::manifests {
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

// What is watched is listed and watched, each kind once; nothing is read one by one. Pods are listed in any case.
json reading_rules(const RightsOptions& options) {
  std::map<std::string, Texts> resources;
  for (const WatchedKind& kind : watched_kinds()) {
    if (!kind.field_selector.empty() ||
        !kind.is_needed(options.native_jobsets, options.group_scheduling, options.frameworks))
      continue;
    // Two watches can be of one resource.
    Texts& group = resources[std::string(kind.type->group)];
    const std::string resource(kind.type->plural);
    if (std::find(group.begin(), group.end(), resource) == group.end()) group.push_back(resource);
  }
  if (options.watches_nodes) {
    Texts& group = resources[""];
    for (const char* watched : {"nodes", "pods"}) {
      if (std::find(group.begin(), group.end(), watched) == group.end()) group.emplace_back(watched);
    }
  }
  json rules = json::array();
  for (const auto& [group, plurals] : resources) rules.push_back(rule({group}, plurals, {"list", "watch"}));
  // Are pods left of a job that was deleted?
  const Texts& core = resources[std::string(kPods.group)];
  if (std::find(core.begin(), core.end(), kPods.plural) == core.end()) rules.push_back(rule({""}, {"pods"}, {"list"}));
  return rules;
}

// They are started and stopped, which is a deletion of what is being deleted already, and own their Workloads.
void add_described_kind_rules(const RightsOptions& options, json& rules) {
  std::map<std::string, Texts> resources, finalizers;
  for (const KindDescriptionPtr& kind : described_kinds()) {
    if (!options.frameworks.contains(kind->framework)) continue;
    resources[kind->group].push_back(kind->plural);
    finalizers[kind->group].push_back(kind->plural + "/finalizers");
  }
  for (const auto& [group, plurals] : resources) rules.push_back(rule({group}, plurals, {"patch", "delete"}));
  for (const auto& [group, plurals] : finalizers) rules.push_back(rule({group}, plurals, {"update"}));
}

// What the reconcilers write of jobs. RBAC cannot name labels: that muster touches only what
// belongs to queues, gangs and JobSets is in own_account.cpp and docs/threat-model.md, and in tests.
void add_job_rules(const RightsOptions& options, json& rules) {
  Texts jobs = {"patch", "delete"};
  if (options.native_jobsets) jobs.insert(jobs.begin() + 1, "create");
  rules.push_back(rule({"batch"}, {"jobs"}, jobs));
  rules.push_back(rule({"batch"}, {"jobs/status"}, {"patch"}));
  rules.push_back(rule({"jobset.x-k8s.io"}, {"jobsets"}, {"patch", "delete"}));
  if (options.native_jobsets || options.group_scheduling)
    rules.push_back(rule({"jobset.x-k8s.io"}, {"jobsets/status"}, {"patch"}));
  // Children that hold up their owner's deletion, and OwnerReferencesPermissionEnforcement.
  rules.push_back(rule({"batch"}, {"jobs/finalizers"}, {"update"}));
  rules.push_back(rule({"jobset.x-k8s.io"}, {"jobsets/finalizers"}, {"update"}));
  add_described_kind_rules(options, rules);
  if (options.native_jobsets) rules.push_back(rule({""}, {"services", "persistentvolumeclaims"}, {"create"}));
  const bool queues_pods = options.frameworks.contains(jobs::plain_pod.framework);
  if (queues_pods) {
    // Their gates, node selectors and tolerations; the reason why one is deleted; and that they own Workloads.
    rules.push_back(rule({""}, {"pods"}, {"patch", "delete"}));
    rules.push_back(rule({""}, {"pods/status"}, {"patch"}));
    rules.push_back(rule({""}, {"pods/finalizers"}, {"update"}));
  }
  if (!options.group_scheduling) return;
  rules.push_back(rule({""}, {"configmaps"}, {"create", "patch", "delete"}));
  // An annotation, for which the status is enough: patch of pods would change images.
  if (!queues_pods) rules.push_back(rule({""}, {"pods/status"}, {"patch"}));
}

void add_queue_rules(const RightsOptions& options, json& rules) {
  rules.push_back(rule({"kueue.x-k8s.io"}, {"workloads"}, {"create", "patch", "delete"}));
  rules.push_back(
      rule({"kueue.x-k8s.io"}, {"workloads/status", "clusterqueues/status", "localqueues/status"}, {"patch"}));
  if (options.writes_cohorts) rules.push_back(rule({"kueue.x-k8s.io"}, {"cohorts/status"}, {"patch"}));
  // Their finalizers.
  rules.push_back(rule({"kueue.x-k8s.io"}, {"clusterqueues", "resourceflavors", "admissionchecks"}, {"patch"}));
  rules.push_back(rule({"events.k8s.io"}, {"events"}, {"create", "patch"}));
  if (options.reads_events) rules.push_back(rule({""}, {"events"}, {"list"}));
}

// The JobSet definition for its gang field, the others for their conversion's CA bundle.
void add_definition_rules(const RightsOptions& options, json& rules) {
  const std::string jobsets(kJobSetDefinitionName);
  const Texts converted(kConvertedDefinitionNames.begin(), kConvertedDefinitionNames.end());
  const bool patches_jobsets =
      options.external_jobsets && options.group_scheduling && options.patches_jobset_definition;
  // Whose it is decides at start who the JobSet controller is.
  Texts jobset_verbs = {"list", "watch"};
  if (options.native_jobsets) jobset_verbs.insert(jobset_verbs.begin(), "get");
  if (patches_jobsets) jobset_verbs.emplace_back("patch");
  rules.push_back(rule({"apiextensions.k8s.io"}, {"customresourcedefinitions"}, jobset_verbs, {jobsets}));
  rules.push_back(rule({"apiextensions.k8s.io"}, {"customresourcedefinitions"}, {"list", "watch", "patch"}, converted));
  // Do they have what the configuration says of them?
  if (!options.own_kinds.empty())
    rules.push_back(rule({"apiextensions.k8s.io"}, {"customresourcedefinitions"}, {"get"}, options.own_kinds));
}

json cluster_rules(const RightsOptions& options) {
  json rules = reading_rules(options);
  add_job_rules(options, rules);
  add_queue_rules(options, rules);
  add_definition_rules(options, rules);
  // Also where another program makes the certificates: entries follow the LocalQueues named "default".
  rules.push_back(rule({"admissionregistration.k8s.io"},
                       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, {"list", "watch", "patch"},
                       {std::string(kWebhookConfigurationName)}));
  // Is the admission policy there, and does it act as configured?
  Texts policy_verbs = {"get"};
  if (options.keeps_policy) policy_verbs.emplace_back("patch");
  rules.push_back(rule({"admissionregistration.k8s.io"}, {"validatingadmissionpolicybindings"}, policy_verbs,
                       {std::string(kUnqueuedKindsPolicyName)}));
  // Is Kueue at work? Its Lease can be in any namespace.
  rules.push_back(rule({"coordination.k8s.io"}, {"leases"}, {"list"}, {std::string(kKueueLeaseName)}));
  rules.push_back(rule({"admissionregistration.k8s.io"}, {"mutatingwebhookconfigurations"}, {"get"},
                       {std::string(kKueueMutatingWebhooks)}));
  rules.push_back(rule({"admissionregistration.k8s.io"}, {"validatingwebhookconfigurations"}, {"get"},
                       {std::string(kKueueValidatingWebhooks)}));
  // Is another JobSet controller at work, and in which namespace?
  rules.push_back(rule({"admissionregistration.k8s.io"}, {"validatingwebhookconfigurations"}, {"get"},
                       {std::string(kForeignJobSetWebhooks)}));
  if (options.native_jobsets)
    rules.push_back(rule({"coordination.k8s.io"}, {"leases"}, {"get"}, {std::string(kForeignJobSetLease)}));
  if (options.aggregated_visibility) {
    rules.push_back(rule({std::string(kApiServices.group)}, {std::string(kApiServices.plural)},
                         {"list", "watch", "patch"},
                         {kVisibilityApiServiceNames.begin(), kVisibilityApiServiceNames.end()}));
  }
  rules.push_back(rule({"authentication.k8s.io"}, {"tokenreviews"}, {"create"}));
  rules.push_back(rule({"authorization.k8s.io"}, {"subjectaccessreviews"}, {"create"}));
  // Who asks? Sessions whose client died are deleted.
  rules.push_back(
      rule({std::string(kReaderSessions.group)}, {std::string(kReaderSessions.plural)}, {"get", "list", "delete"}));
  return rules;
}

// Of a ClusterRole where `ns` is empty. `name`: empty: as the role. `account`: of muster's namespace.
json binding(std::string_view own_namespace, std::string_view role, std::string_view ns = {},
             std::string_view name = {}, std::string_view account = kServiceAccountName) {
  const std::string prefix = ns.empty() ? "Cluster" : "";
  json made = object(std::string(kRbacApi) + "/v1", prefix + "RoleBinding", name.empty() ? role : name, ns);
  made["roleRef"] = {{"apiGroup", kRbacApi}, {"kind", prefix + "Role"}, {"name", role}};
  made["subjects"] = json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", own_namespace}}});
  return made;
}

json lease_rules(const RightsOptions& options) {
  return {rule({"coordination.k8s.io"}, {"leases"}, {"get", "update"}, {options.lease}),
          rule({"coordination.k8s.io"}, {"leases"}, {"create"})};
}

// The API server's proxy to the one Service, by port name as `muster explain` spells it, and whether a replica leads.
// What can be read of muster is asked of the API server for every request. `lease`: empty: it is elsewhere.
json explain_viewer(std::string_view own_namespace, const std::string& lease) {
  json viewer = object(std::string(kRbacApi) + "/v1", "Role", kExplainViewerRoleName, own_namespace);
  viewer["rules"] = {rule({""}, {"services/proxy"}, {"get"},
                          {"https:" + std::string(kMetricsServiceName) + ":" + std::string(kMetricsPortName)})};
  if (!lease.empty()) viewer["rules"].push_back(rule({"coordination.k8s.io"}, {"leases"}, {"get"}, {lease}));
  return viewer;
}

json everybody_binding(std::string_view own_namespace) {
  json made = binding(own_namespace, kExplainViewerRoleName, own_namespace, kReadersBindingName);
  made["subjects"] = json::array({{{"apiGroup", kRbacApi}, {"kind", "Group"}, {"name", kEverybodyGroup}}});
  return made;
}

// The certificates' Secret, the own Pod, the dry-run ReaderSession that the policy must refuse, and the Lease where
// that is here.
json own_namespace_rules(const RightsOptions& options, bool with_lease) {
  json rules = json::array({rule({""}, {"pods"}, {"get"}), rule({std::string(kReaderSessions.group)},
                                                                {std::string(kReaderSessions.plural)}, {"create"})});
  if (!options.secret.empty()) {
    rules.push_back(rule({""}, {"secrets"}, {"get", "update"}, {options.secret}));
    rules.push_back(rule({""}, {"secrets"}, {"create"}));
  }
  if (with_lease) {
    for (json& each : lease_rules(options)) rules.push_back(std::move(each));
  }
  return rules;
}

}  // namespace

RightsOptions rights_for(const LoadedConfiguration& configuration) {
  const MusterConfiguration& muster = configuration.muster;
  const Configuration& kueue = configuration.kueue;
  RightsOptions options;
  options.native_jobsets = muster.jobset_controller != JobSetController::kExternal;
  options.external_jobsets = muster.jobset_controller != JobSetController::kNative;
  options.group_scheduling = muster.group_scheduling;
  options.frameworks = {kueue.frameworks.begin(), kueue.frameworks.end()};
  for (const KindDescriptionPtr& kind : configuration.kinds)
    options.own_kinds.push_back(kind->plural + "." + kind->group);
  options.patches_jobset_definition = muster.patch_jobset_definition;
  options.keeps_policy = muster.unqueued_kinds.has_value() || !kinds_with_queue(kueue).empty();
  options.writes_cohorts = find_path(kueue.effective, {"fairSharing"}) != nullptr;
  options.reads_events = muster.pod_reasons;
  options.watches_nodes = muster.watch_nodes;
  options.aggregated_visibility = muster.aggregated_visibility;
  options.secret = kueue.cert_management.enable ? kueue.cert_management.webhook_secret_name : "";
  options.lease = kueue.leader_election.leader_elect ? kueue.leader_election.resource_name : "";
  options.lease_namespace = kueue.leader_election.resource_namespace;
  return options;
}

std::vector<json> rbac_objects(std::string_view own_namespace, const RightsOptions& options) {
  const std::string version = std::string(kRbacApi) + "/v1";
  const bool lease_elsewhere = !options.lease_namespace.empty() && options.lease_namespace != own_namespace;
  const bool lease_here = !options.lease.empty() && !lease_elsewhere;
  json cluster_role = object(version, "ClusterRole", kServiceAccountName);
  cluster_role["rules"] = cluster_rules(options);
  json role = object(version, "Role", kServiceAccountName, own_namespace);
  role["rules"] = own_namespace_rules(options, lease_here);
  json reader = object(version, "ClusterRole", kMetricsReaderRoleName);
  reader["rules"] = json::array({{{"nonResourceURLs", {"/metrics"}}, {"verbs", {"get"}}}});
  std::vector<json> objects = {
      object("v1", "ServiceAccount", kServiceAccountName, own_namespace), std::move(cluster_role),
      binding(own_namespace, kServiceAccountName), std::move(role),
      binding(own_namespace, kServiceAccountName, own_namespace), std::move(reader),
      // In its name `muster sysdump` reads the metrics: of those who can create its tokens.
      object("v1", "ServiceAccount", kExplainAccountName, own_namespace),
      binding(own_namespace, kMetricsReaderRoleName, {}, kExplainMetricsBindingName, kExplainAccountName),
      explain_viewer(own_namespace, lease_here ? options.lease : ""), everybody_binding(own_namespace)};
  if (!options.lease.empty() && lease_elsewhere) {
    json lease = object(version, "Role", kLeaseRoleName, options.lease_namespace);
    lease["rules"] = lease_rules(options);
    objects.push_back(std::move(lease));
    objects.push_back(binding(own_namespace, kLeaseRoleName, options.lease_namespace));
  }
  if (options.aggregated_visibility) {
    objects.push_back(
        binding(own_namespace, kAuthenticationReaderRoleName, "kube-system", kAuthenticationReaderBindingName));
  }
  return objects;
}

}  // namespace muster::manifests
