// Workloads that wait for quota or for others, and those that were ended.
#include "api/meta/constants.h"
#include "test/explain/reason_scenes.h"

namespace muster::test {
namespace {

using Arrange = std::function<void(ExplainCluster&)>;

// Two pods with these cpus.
json asking_for(const char* cpu, const json& patch = json::object()) {
  json made = {{"spec", ExplainCluster::workload()["spec"]}};
  made["spec"]["podSets"][0]["template"] = ExplainCluster::pod_template(cpu);
  made.merge_patch(patch);
  return made;
}

Arrange waits(
    const json& workload, const Arrange& first = [](ExplainCluster&) {}) {
  return [workload, first](ExplainCluster& cluster) {
    first(cluster);
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, ExplainCluster::workload(workload));
  };
}

// 6 of the 10 cpus are held, in this namespace or in another one.
Arrange held(const char* ns = kNs) {
  return [ns](ExplainCluster& cluster) {
    json holder = cluster.admitted();
    holder["metadata"] = {{"namespace", ns}};
    cluster.put_other("holder", -30, "3", holder);
  };
}

Arrange with_queue(const json& spec, const Arrange& then) {
  return [spec, then](ExplainCluster& cluster) {
    cluster.put(kClusterQueues, ExplainCluster::cluster_queue(spec));
    then(cluster);
  };
}

// A Workload of less priority is admitted.
Arrange preemptor(const json& annotations) {
  return waits(asking_for("3", {{"spec", {{"priority", 10}}}}), [annotations](ExplainCluster& cluster) {
    json queue = ExplainCluster::cluster_queue({{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
    queue["metadata"]["annotations"] = annotations;
    cluster.put(kClusterQueues, queue);
    cluster.put_other("low", -30, "4", cluster.admitted());
  });
}

// A Cohort lends 4 cpus.
Arrange lending(const Arrange& then) {
  return with_queue({{"cohortName", "all"}}, [then](ExplainCluster& cluster) {
    const json quota = cluster_queue_of({quota_of("f1", {{"cpu", "4"}})}, json::object())["spec"]["resourceGroups"];
    cluster.put(kCohorts, "all", {{"spec", {{"resourceGroups", quota}}}});
    then(cluster);
  });
}

Arrange deactivated(const char* reason) {
  return [reason](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, ExplainCluster::workload(
                                {{"spec", {{"active", false}}},
                                 {"status", {{"conditions", {cluster.condition("Evicted", true, reason, "why")}}}}}));
  };
}

json without_requests(const char* runtime_class) {
  json made = asking_for("3");
  json& spec = made["spec"]["podSets"][0]["template"]["spec"];
  if (*runtime_class == '\0')
    spec["containers"][0].erase("resources");
  else
    spec["runtimeClassName"] = runtime_class;
  return made;
}

}  // namespace

Scenes waiting_scenes() {
  const char *quota = "WaitingForQuota", *too_much = "ExceedsMaxQuota";
  const json three = asking_for("3");
  Scenes scenes = {
      {"its quota is in use", waits(three, held()), quota, "asks for 6 of cpu, 4 are free in flavor f1"},
      {"another namespace uses its quota", waits(three, held("team-b")), quota, "asks for 6 of cpu, 4 are free"},
      {"the quota of its Cohort is in use", lending(waits(asking_for("6"), held())), quota,
       "asks for 12 of cpu, 8 are free"},
      {"a LimitRange sets its requests",
       waits(without_requests(""),
             [](ExplainCluster& cluster) {
               cluster.put(kLimitRanges,
                           {{"metadata", {{"name", "small"}}},
                            {"spec", {{"limits", {{{"type", "Container"}, {"defaultRequest", {{"cpu", "6"}}}}}}}}});
             }),
       too_much, "requests 12 of cpu"},
      {"a RuntimeClass adds to its requests",
       waits(without_requests("heavy"),
             [](ExplainCluster& cluster) {
               cluster.put(kRuntimeClasses, "heavy", {{"handler", "h"}, {"overhead", {{"podFixed", {{"cpu", "3"}}}}}});
             }),
       too_much, "requests 12 of cpu"},
      {"the namespace has a label that the queue refuses",
       with_queue({{"namespaceSelector",
                    {{"matchExpressions", json::array({{{"key", "team"}, {"operator", "DoesNotExist"}}})}}}},
                  waits(three)),
       "NamespaceNotAdmitted", "does not admit workloads of namespace team-a"},
      {"the queue is stopped, and has a flavor that exists", with_queue({{"stopPolicy", "Hold"}}, waits(three)),
       "ClusterQueueStopped", "ClusterQueue cq is stopped"},
      {"another one is first in a strict queue",
       with_queue({{"queueingStrategy", "StrictFIFO"}}, waits(three,
                                                              [](ExplainCluster& cluster) {
                                                                held("team-b")(cluster);
                                                                cluster.put_other("early", -20, "3");
                                                              })),
       "PendingEvaluation", "has not been evaluated yet"},
      {"it waits for victims", preemptor(json::object()), "WaitingForPreemptedWorkloads", "to stop"},
      {"its victims are protected", preemptor({{kPreemptionProtectionAnnotation, "1h"}}),
       "WaitingForProtectedWorkloads", "are protected"},
  };
  ExplainRow admitted = {"it is being admitted", waits(three), "BeingAdmitted", "has just got its turn"};
  admitted.without_leader = "PendingEvaluation";
  ExplainRow unwritten = {"its admission is not written",
                          [three](ExplainCluster& cluster) {
                            waits(three)(cluster);
                            cluster.decide();
                            cluster.pass(12s);
                          },
                          "AdmissionNotWritten", "the API server has not accepted its admission yet"};
  unwritten.without_leader = "PendingEvaluation";
  ExplainRow blocked = {
      "the pods of another one are not ready",
      waits(three, [](ExplainCluster& cluster) { cluster.put_other("slow", -30, "1", cluster.admitted()); }),
      "WaitingForPodsReady", "nothing is admitted"};
  blocked.settings = with_pods_ready();
  blocked.settings.queues.wait_for_pods_ready->block_admission = true;
  scenes.insert(scenes.end(), {admitted, unwritten, blocked});
  return scenes;
}

Scenes ended_scenes() {
  Scenes scenes = {
      {"it was deactivated by hand", deactivated("Deactivated"), "Deactivated", "by hand"},
      {"it was deactivated after its last try", deactivated("DeactivatedDueToRequeuingLimitExceeded"),
       "DeactivatedDueToRequeuingLimitExceeded", "in any attempt"},
      {"it backs off",
       [](ExplainCluster& cluster) {
         waits({{"status",
                 {{"requeueState", {{"count", 2}, {"requeueAt", "2026-01-01T12:00:12Z"}}},
                  {"conditions", {cluster.condition("Evicted", true, "PodsReadyTimeout", "late")}}}}})(cluster);
       },
       "Backoff", "attempt 3 begins at 2026-01-01T12:00:12Z"},
      {"its Workload is being deleted",
       waits({{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}, {"finalizers", json::array({"x/y"})}}}}),
       "BeingDeleted", "is being deleted"},
      {"its owner is no job of muster's",
       [](ExplainCluster& cluster) {
         json workload = ExplainCluster::workload(cluster.admitted());
         workload["metadata"]["ownerReferences"] = controlled_by("example.com/v1", "Task", "x", "x-uid");
         cluster.put(kWorkloads, workload);
       },
       "Admitted",
       "its owner is not a job that muster runs",
       {},
       &kWorkloads},
  };
  ExplainRow preempted = {"it is being preempted",
                          preemptor(json::object()),
                          "Preempted",
                          "another Workload needs its quota",
                          {},
                          &kWorkloads,
                          "low"};
  preempted.without_leader = "Admitted";
  scenes.push_back(preempted);
  return scenes;
}

}  // namespace muster::test
