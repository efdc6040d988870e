#include "manifests/rbac.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "kinds/kind_description.h"
#include "kinds/serving_types.h"
#include "kinds/watched_kinds.h"

namespace rbac_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

using Rights = std::set<std::string>;

// "patch batch/jobs", "get /secrets muster-webhook-cert": one for each verb, resource and name.
Rights rights_in(const json& role) {
  Rights rights;
  for (const json& rule : role.at("rules")) {
    for (const json& group : rule.at("apiGroups")) {
      for (const json& resource : rule.at("resources")) {
        for (const json& verb : rule.at("verbs")) {
          const std::string what =
              verb.get<std::string>() + " " + group.get<std::string>() + "/" + resource.get<std::string>();
          for (const json& name : rule.value("resourceNames", json{""}))
            CHECK_MESSAGE(rights.insert(what + (name == "" ? "" : " " + name.get<std::string>())).second, what,
                          " twice");
        }
      }
    }
  }
  return rights;
}

Rights rights_of(const RightsOptions& options, const std::string& kind = "ClusterRole",
                 const std::string& name = "muster") {
  for (const json& object : rbac_objects("muster-system", options)) {
    CHECK(object.dump().find("\"*\"") == std::string::npos);
    if (object.at("kind") == kind && object.at("metadata").at("name") == name) return rights_in(object);
  }
  FAIL_CHECK("there is no ", kind, " ", name);
  return {};
}

Rights minus(const Rights& of, const Rights& without) {
  Rights left;
  for (const std::string& right : of) {
    if (!without.contains(right)) left.insert(right);
  }
  return left;
}

RightsOptions native() {
  RightsOptions options;
  options.external_jobsets = false;
  return options;
}

RightsOptions external() {
  RightsOptions options;
  options.native_jobsets = false;
  return options;
}

const Rights kOnlyNative = {"list /services",
                            "watch /services",
                            "create /services",
                            "list /persistentvolumeclaims",
                            "watch /persistentvolumeclaims",
                            "create /persistentvolumeclaims",
                            "create batch/jobs",
                            "get apiextensions.k8s.io/customresourcedefinitions jobsets.jobset.x-k8s.io",
                            "get coordination.k8s.io/leases 6d4f6a47.jobset.x-k8s.io"};
const Rights kOnlyExternal = {"patch apiextensions.k8s.io/customresourcedefinitions jobsets.jobset.x-k8s.io"};
const Rights kOnlyGroups = {"watch /pods",        "patch /pods/status", "list /configmaps",  "watch /configmaps",
                            "create /configmaps", "patch /configmaps",  "delete /configmaps"};

}  // namespace

TEST_CASE("muster lists and watches what it watches and reads nothing else one by one") {
  RightsOptions every_kind;
  for (const KindDescriptionPtr& kind : described_kinds()) every_kind.frameworks.insert(kind->framework);
  for (const char* name : {"pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"})
    every_kind.frameworks.insert(name);
  const Rights few = rights_of({});
  const Rights rights = rights_of(every_kind);
  // Pods of gangs are watched anyway; where pods are queued they are started and deleted too.
  for (const char* verb : {"patch", "delete"}) {
    CHECK_FALSE(few.contains(std::string(verb) + " /pods"));
    CHECK(rights.contains(std::string(verb) + " /pods"));
  }
  for (const WatchedKind& kind : watched_kinds()) {
    if (!kind.type->selection.empty()) continue;
    std::string what = " " + std::string(kind.type->group) + "/" + std::string(kind.type->plural);
    if (!kind.field_selector.empty()) what += " " + std::string(kind.field_selector.substr(14));
    CHECK_MESSAGE(rights.contains("list" + what), what);
    CHECK_MESSAGE(rights.contains("watch" + what), what);
    // Of the kinds that are described those that are enabled, which muster starts and stops.
    CHECK_MESSAGE(few.contains("list" + what) == kind.framework.empty(), what);
    CHECK_MESSAGE(few.contains("patch" + what) <= kind.framework.empty(), what);
    // What serves is started and stopped by its pods.
    const bool serves = *kind.type == kStatefulSets || *kind.type == kLeaderWorkerSets;
    const bool is_job = !serves && is_queued_type(kind.type->group, kind.type->plural);
    if (!kind.framework.empty()) CHECK_MESSAGE(rights.contains("patch" + what) == is_job, what);
  }
  Rights gets;
  for (const std::string& right : rights) {
    if (right.starts_with("get ")) gets.insert(right);
  }
  CHECK(rights.contains("list coordination.k8s.io/leases c1f6bfd2.kueue.x-k8s.io"));
  CHECK(gets == Rights{"get apiextensions.k8s.io/customresourcedefinitions jobsets.jobset.x-k8s.io",
                       "get admissionregistration.k8s.io/validatingwebhookconfigurations "
                       "jobset-validating-webhook-configuration",
                       "get admissionregistration.k8s.io/validatingadmissionpolicybindings muster-unqueued-kinds",
                       "get admissionregistration.k8s.io/mutatingwebhookconfigurations "
                       "kueue-mutating-webhook-configuration",
                       "get admissionregistration.k8s.io/validatingwebhookconfigurations "
                       "kueue-validating-webhook-configuration",
                       "get coordination.k8s.io/leases 6d4f6a47.jobset.x-k8s.io", "get muster.batch/readersessions"});
}

TEST_CASE("muster may write what its reconcilers write and nothing else") {
  Rights writing;
  for (const std::string& right : rights_of({})) {
    if (!right.starts_with("get ") && !right.starts_with("list ") && !right.starts_with("watch "))
      writing.insert(right);
  }
  const std::string definition = "patch apiextensions.k8s.io/customresourcedefinitions ";
  CHECK(writing == Rights{"delete muster.batch/readersessions",
                          "create /configmaps",
                          "patch /configmaps",
                          "delete /configmaps",
                          "create /services",
                          "create /persistentvolumeclaims",
                          "patch /pods/status",
                          "create batch/jobs",
                          "patch batch/jobs",
                          "delete batch/jobs",
                          "patch batch/jobs/status",
                          "update batch/jobs/finalizers",
                          "patch jobset.x-k8s.io/jobsets",
                          "delete jobset.x-k8s.io/jobsets",
                          "patch jobset.x-k8s.io/jobsets/status",
                          "update jobset.x-k8s.io/jobsets/finalizers",
                          "create kueue.x-k8s.io/workloads",
                          "patch kueue.x-k8s.io/workloads",
                          "delete kueue.x-k8s.io/workloads",
                          "patch kueue.x-k8s.io/workloads/status",
                          "patch kueue.x-k8s.io/clusterqueues",
                          "patch kueue.x-k8s.io/clusterqueues/status",
                          "patch kueue.x-k8s.io/localqueues/status",
                          "patch kueue.x-k8s.io/resourceflavors",
                          "patch kueue.x-k8s.io/admissionchecks",
                          "create events.k8s.io/events",
                          "patch events.k8s.io/events",
                          definition + "jobsets.jobset.x-k8s.io",
                          definition + "clusterqueues.kueue.x-k8s.io",
                          definition + "cohorts.kueue.x-k8s.io",
                          definition + "localqueues.kueue.x-k8s.io",
                          definition + "workloads.kueue.x-k8s.io",
                          "patch admissionregistration.k8s.io/mutatingwebhookconfigurations muster",
                          "patch admissionregistration.k8s.io/validatingwebhookconfigurations muster",
                          "create authentication.k8s.io/tokenreviews",
                          "create authorization.k8s.io/subjectaccessreviews"});
}

TEST_CASE("each mode has fewer rights than the one that is found out at start") {
  const Rights all = rights_of({});
  CHECK(rights_of(native()) == minus(all, kOnlyExternal));
  CHECK(rights_of(external()) == minus(all, kOnlyNative));

  RightsOptions left_alone = external();
  left_alone.patches_jobset_definition = false;
  CHECK(rights_of(left_alone) == minus(rights_of(external()), kOnlyExternal));

  RightsOptions no_groups = native();
  no_groups.group_scheduling = false;
  // Pods are watched for in-place restarts too.
  Rights without_groups = minus(rights_of(native()), kOnlyGroups);
  without_groups.insert("watch /pods");
  CHECK(rights_of(no_groups) == without_groups);
  no_groups = external();
  no_groups.group_scheduling = false;
  Rights less = minus(minus(rights_of(external()), kOnlyGroups), kOnlyExternal);
  less.erase("patch jobset.x-k8s.io/jobsets/status");
  CHECK(rights_of(no_groups) == less);

  RightsOptions keeps;
  keeps.keeps_policy = true;
  CHECK(minus(rights_of(keeps), all) ==
        Rights{"patch admissionregistration.k8s.io/validatingadmissionpolicybindings muster-unqueued-kinds"});
  RightsOptions shares = external();
  shares.writes_cohorts = true;
  CHECK(minus(rights_of(shares), rights_of(external())) == Rights{"patch kueue.x-k8s.io/cohorts/status"});
  RightsOptions no_reasons;
  no_reasons.reads_events = false;
  CHECK(minus(all, rights_of(no_reasons)) == Rights{"list /events"});
}

TEST_CASE("in its own namespace muster keeps its certificate and its Lease") {
  const Rights own = rights_of({}, "Role");
  const Rights lease = {"get coordination.k8s.io/leases c1f6bfd2.kueue.x-k8s.io",
                        "update coordination.k8s.io/leases c1f6bfd2.kueue.x-k8s.io",
                        "create coordination.k8s.io/leases"};
  const Rights secret = {"create /secrets", "get /secrets muster-webhook-cert", "update /secrets muster-webhook-cert"};
  CHECK(minus(minus(own, lease), secret) == Rights{"get /pods", "create muster.batch/readersessions"});
  CHECK(own.size() == 8);

  RightsOptions options;
  options.secret = "";
  CHECK(rights_of(options, "Role") == minus(own, secret));
  options = {};
  options.lease = "";
  CHECK(rights_of(options, "Role") == minus(own, lease));
  options = {};
  options.lease_namespace = "muster-system";
  CHECK(rights_of(options, "Role") == own);
  options.lease_namespace = "elsewhere";
  CHECK(rights_of(options, "Role") == minus(own, lease));
  CHECK(rights_of(options, "Role", "muster-lease") == lease);
}

TEST_CASE("an aggregated visibility API takes the bundle of two APIServices and one ConfigMap of the API server") {
  RightsOptions options;
  options.aggregated_visibility = true;
  const std::string services = "apiregistration.k8s.io/apiservices ";
  Rights added;
  for (const char* verb : {"list ", "watch ", "patch "}) {
    for (const char* version : {"v1beta1", "v1beta2"})
      added.insert(verb + services + version + ".visibility.kueue.x-k8s.io");
  }
  CHECK(minus(rights_of(options), rights_of({})) == added);
  CHECK(rights_of(options, "Role") == rights_of({}, "Role"));
  // The Role is Kubernetes' own: get, list and watch of that one ConfigMap.
  const auto objects = rbac_objects("muster-system", options);
  CHECK(objects.size() == rbac_objects("muster-system", {}).size() + 1);
  CHECK(objects.back().at("kind") == "RoleBinding");
  CHECK(objects.back().at("metadata").at("namespace") == "kube-system");
  CHECK(objects.back().at("roleRef").at("kind") == "Role");
  CHECK(objects.back().at("roleRef").at("name") == "extension-apiserver-authentication-reader");
}

TEST_CASE("the configuration decides which rights muster needs") {
  const auto rights = [](const std::string& text) {
    const auto loaded = load_configuration(text);
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().text());
    return rights_for(*loaded);
  };
  const std::string kueue = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
  const std::string own = "---\napiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\n";
  const RightsOptions usual = rights(kueue);
  CHECK(usual.native_jobsets);
  CHECK(usual.external_jobsets);
  CHECK(usual.group_scheduling);
  CHECK(usual.patches_jobset_definition);
  CHECK_FALSE(usual.writes_cohorts);
  CHECK(usual.secret == "kueue-webhook-server-cert");
  CHECK(usual.lease == kLeaseName);
  CHECK(usual.lease_namespace.empty());

  CHECK_FALSE(rights(kueue + own + "jobSetController: native\n").external_jobsets);
  CHECK_FALSE(rights(kueue + own + "jobSetController: external\n").native_jobsets);
  CHECK_FALSE(rights(kueue + own + "groupScheduling: false\n").group_scheduling);
  CHECK_FALSE(rights(kueue + own + "patchJobSetDefinition: false\n").patches_jobset_definition);
  CHECK(usual.reads_events);
  // Flavors have timeouts without it.
  CHECK(rights(kueue + "featureGates: {DisableWaitForPodsReady: true}\n").reads_events);
  CHECK_FALSE(rights(kueue + own + "podReasons: false\n").reads_events);
  CHECK_FALSE(usual.watches_nodes);
  CHECK(rights(kueue + own + "watchNodes: true\n").watches_nodes);
  CHECK_FALSE(usual.aggregated_visibility);
  CHECK(rights(kueue + own + "aggregatedVisibility: true\n").aggregated_visibility);
  CHECK_FALSE(usual.keeps_policy);
  CHECK(rights(kueue + own + "unqueuedKinds: Warn\n").keeps_policy);
  CHECK(rights(kueue + "integrations: {externalFrameworks: [RayJob.v1.ray.io]}\n").keeps_policy);
  CHECK(rights(kueue + "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n").writes_cohorts);
  CHECK(rights(kueue + "internalCertManagement: {enable: false}\n").secret.empty());
  CHECK(rights(kueue + "leaderElection: {leaderElect: false}\n").lease.empty());
  const RightsOptions elsewhere =
      rights(kueue + "leaderElection: {leaderElect: true, resourceName: ours, resourceNamespace: there}\n");
  CHECK(elsewhere.lease == "ours");
  CHECK(elsewhere.lease_namespace == "there");
}

}  // namespace rbac_test
