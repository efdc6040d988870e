#include "test/explain/reason_scenes.h"

#include "api/meta/constants.h"
#include "jobs/job_kind.h"

namespace muster::test {
namespace {

std::function<void(ExplainCluster&)> put_job(const json& patch) {
  return [patch](ExplainCluster& cluster) { cluster.put(kJobs, ExplainCluster::job(patch)); };
}

json pods_of(const std::string& cpu) {
  json spec = ExplainCluster::workload()["spec"];
  spec["podSets"][0]["template"] = ExplainCluster::pod_template(cpu);
  return {{"spec", spec}};
}

}  // namespace

Scenes unqueued_scenes() {
  const json no_queue = {{"metadata", {{"labels", nullptr}}}};
  json running = no_queue;
  running["spec"]["suspend"] = false;
  running["status"] = {{"active", 2}, {"ready", 2}};
  Scenes scenes = {
      {"there is none",
       [](ExplainCluster&) {},
       "NotFound",
       "There is no Job team-a/train.",
       {"Perhaps it is not a Job"}},
      {"there is no namespace", [](ExplainCluster& cluster) { cluster.vanish(kNamespaces, "team-a"); }, "NotFound",
       "Namespace not found: team-a."},
      {"it has no queue name",
       put_job(no_queue),
       "NoQueueName",
       "is suspended, and muster will not start it",
       {"kubectl -n team-a label jobs train kueue.x-k8s.io/queue-name=lq"}},
      {"it has no queue name and runs",
       put_job(running),
       "Running",
       "is running: 2/2 pods ready",
       {"It is in no queue"}},
      {"another controller manages it",
       put_job({{"spec", {{"managedBy", "example.com/other"}}}}),
       "ManagedByOther",
       "muster will not start it",
       {"example.com/other"}},
      {"it is being deleted", put_job({{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}}), "BeingDeleted",
       "is being deleted"},
      {"it has failed",
       put_job({{"status",
                 {{"conditions", {{{"type", "Failed"}, {"status", "True"}, {"message", "too many pods failed."}}}}}}}),
       "Finished", "has failed: too many pods failed."},
      {"a JobSet owns it",
       [](ExplainCluster& cluster) {
         cluster.put(kJobSets, {{"metadata", {{"name", "all"}, {"uid", "u"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                                {"spec", {{"replicatedJobs", json::array()}}}});
         json owned = ExplainCluster::job();
         owned["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                                  {"kind", "JobSet"},
                                                  {"name", "all"},
                                                  {"uid", "u"},
                                                  {"controller", true}}};
         cluster.put(kJobs, owned);
       },
       "OwnedByQueuedJob",
       "muster will not start it",
       {"part of JobSet all", "muster explain jobset/all -n team-a"}},
  };
  ExplainRow off = {
      "the integration is off", put_job({}), "IntegrationDisabled", "muster will not start it", {"lacks batch/job"}};
  off.settings.queues.rules.frameworks = {"jobset.x-k8s.io/jobset"};
  ExplainRow elsewhere = {"the namespace is not selected",
                          put_job({}),
                          "NamespaceNotSelected",
                          "muster will not start it",
                          {"does not match namespace team-a"}};
  elsewhere.settings.queues.rules.managed_jobs_namespace_selector =
      *LabelSelector::parse({{"matchLabels", {{"team", "b"}}}});
  ExplainRow orphan = {"its JobSet is not there",
                       [](ExplainCluster& cluster) {
                         json object = ExplainCluster::job({{"metadata", {{"labels", nullptr}}}});
                         object["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                                                   {"kind", "JobSet"},
                                                                   {"name", "gone"},
                                                                   {"uid", "u"},
                                                                   {"controller", true}}};
                         cluster.put(kJobs, object);
                       },
                       "OwnerNotQueued",
                       "says that it is part of JobSet gone, which does not exist or is in no queue",
                       {"set a queue on this job"}};
  orphan.settings.queues.rules.manage_jobs_without_queue_name = true;
  scenes.insert(scenes.end(), {off, elsewhere, orphan});
  return scenes;
}

Scenes scenes_without_workload() {
  const json labelled = {{"metadata", {{"labels", {{"kueue.x-k8s.io/priority-class", "gold"}}}}}};
  json of_pods = json::object();
  of_pods["spec"]["template"]["spec"]["priorityClassName"] = "silver";
  return {
      {"it was not made yet", put_job({}), "WorkloadNotCreated", "has no Workload yet"},
      {"its WorkloadPriorityClass is missing", put_job(labelled), "PriorityClassMissing",
       "WorkloadPriorityClass gold does not exist"},
      {"the PriorityClass of its pods is missing", put_job(of_pods), "PriorityClassMissing", "does not exist"},
      {"its pods still run", put_job({{"status", {{"active", 1}}}}), "Stopping", "when its remaining pods are deleted"},
      {"it names a Workload that is missing",
       put_job({{"metadata", {{"labels", {{"kueue.x-k8s.io/prebuilt-workload-name", "mine"}}}}}}),
       "PrebuiltWorkloadMissing", "waits for Workload mine"},
      {"it names a Workload of another job",
       [](ExplainCluster& cluster) {
         cluster.put(kJobs, ExplainCluster::job({{"metadata", {{"annotations", {{kPrebuiltWorkload, "mine"}}}}}}));
         cluster.put(kWorkloads, ExplainCluster::workload(cluster.admitted(), "mine", "other", "other-uid"));
       },
       "PrebuiltWorkloadTaken", "cannot run by Workload mine, which belongs to Job other"},
      {"it names a Workload of another shape",
       [](ExplainCluster& cluster) {
         cluster.put(kJobs, ExplainCluster::job({{"metadata", {{"annotations", {{kPrebuiltWorkload, "mine"}}}}}}));
         json mine = ExplainCluster::workload(
             {{"status", {{"conditions", {cluster.condition("Finished", true, "OutOfSync")}}}}}, "mine");
         mine["spec"]["podSets"][0]["count"] = 3;
         cluster.put(kWorkloads, mine);
       },
       "PrebuiltWorkloadOutOfSync",
       "which was made for another one",
       {"spec.podSets[0].count is 3, and the job's is 2"}},
  };
}

Scenes scenes_kept_out() {
  const auto waiting = [](std::function<void(ExplainCluster&)> change) {
    return [change = std::move(change)](ExplainCluster& cluster) {
      change(cluster);
      cluster.put(kJobs, ExplainCluster::job());
      cluster.put(kWorkloads, ExplainCluster::workload());
    };
  };
  const auto queue = [&](const json& spec) {
    return waiting(
        [spec](ExplainCluster& cluster) { cluster.put(kClusterQueues, ExplainCluster::cluster_queue(spec)); });
  };
  Scenes scenes = {
      {"the LocalQueue is missing",
       waiting([](ExplainCluster& c) { c.remove(kLocalQueues, "lq"); }),
       "LocalQueueMissing",
       "LocalQueue lq, which does not exist in team-a",
       {"kubectl -n team-a get localqueues"}},
      {"the LocalQueue is stopped", waiting([](ExplainCluster& c) {
         c.put(kLocalQueues,
               {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}, {"stopPolicy", "Hold"}}}});
       }),
       "LocalQueueStopped", "LocalQueue lq is stopped"},
      {"the ClusterQueue is missing", waiting([](ExplainCluster& c) { c.remove(kClusterQueues, "cq"); }),
       "ClusterQueueMissing", "ClusterQueue cq, which does not exist"},
      {"the ClusterQueue is stopped", queue({{"stopPolicy", "Hold"}}), "ClusterQueueStopped",
       "ClusterQueue cq is stopped"},
      {"a flavor is missing",
       waiting([](ExplainCluster& c) { c.remove(kResourceFlavors, "f1"); }),
       "ClusterQueueInactive",
       "cannot admit anything (FlavorNotFound)",
       {"missing ResourceFlavor(s): f1"}},
      {"a check is missing",
       queue({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "budget"}}}}}}}),
       "ClusterQueueInactive",
       "(AdmissionCheckNotFound)",
       {"budget"}},
      {"the ClusterQueue does not take the namespace",
       queue({{"namespaceSelector", {{"matchLabels", {{"team", "b"}}}}}}), "NamespaceNotAdmitted",
       "does not admit workloads of namespace team-a"},
      {"its admission is gated", with_workload([](ExplainCluster&) {
         return json{{"metadata", {{"annotations", {{kAdmissionGatedByAnnotation, "example.com/gate"}}}}}};
       }),
       "AdmissionGated", "waits for its admission gates: example.com/gate"},
  };
  return scenes;
}

Scenes scenes_with_quota() {
  const auto check_state = [](const char* name, const char* state, const char* message) {
    return json{{"name", name}, {"state", state}, {"message", message}, {"lastTransitionTime", "2026-01-01T11:30:00Z"}};
  };
  const json starts = {{"spec", {{"suspend", false}}}, {"status", {{"active", 2}, {"ready", 1}}}};
  json runs = starts;
  runs["status"]["ready"] = 2;
  const auto admitted = [](const json& more = json::array()) {
    return [more](ExplainCluster& cluster) { return cluster.admitted(more); };
  };
  Scenes scenes = {
      {"its checks are pending",
       with_workload([=](ExplainCluster& cluster) {
         json patch = cluster.reserved();
         patch["status"]["admissionChecks"] = {check_state("budget", "Pending", "asking"),
                                               check_state("ok", "Ready", "")};
         return patch;
       }),
       "UnsatisfiedAdmissionChecks",
       "waits for admission checks: budget.",
       {"AdmissionCheck budget is Pending: asking"}},
      {"it is about to be started", with_workload(admitted()), "Starting", "about to be started", {"6 cpu of f1"}},
      {"its pods are not ready",
       with_workload(admitted(), starts),
       "PodsNotReady",
       "1 of its 2 pods are ready",
       {"2026-01-01T12:04:00Z, in 4m0s", "kubectl -n team-a get pods -l batch.kubernetes.io/job-name=train"}},
      {"a pod has failed",
       with_workload(
           [](ExplainCluster& c) {
             return c.admitted(json::array({c.condition("PodsReady", false, "WaitForRecovery", "", 30s)}));
           },
           starts),
       "PodsNotReady",
       "1 of its 2 pods are ready",
       {"2026-01-01T12:02:30Z, in 2m30s", "a pod has failed"}},
      {"it runs", with_workload(admitted(), runs), "Running", "is running: 2/2 pods ready"},
      {"asked for by its Workload",
       with_workload(admitted(), runs),
       "Running",
       "Workload team-a/job-train is running",
       {},
       &kWorkloads},
      {"it is evicted and its pods run",
       with_workload(
           [](ExplainCluster& c) {
             return c.admitted(json::array(
                 {c.condition("Evicted", true, "PodsReadyTimeout", "Exceeded the PodsReady timeout team-a/x")}));
           },
           runs),
       "Stopping", "was evicted (PodsReadyTimeout), and its pods are still stopping"},
      {"it is finished", with_workload([](ExplainCluster& c) {
         return json{
             {"status", {{"conditions", {c.condition("Finished", true, "Succeeded", "Job finished successfully")}}}}};
       }),
       "Finished", "has finished: Succeeded: Job finished successfully."},
  };
  for (ExplainRow& scene : scenes) scene.settings = with_pods_ready();
  return scenes;
}

Scenes refused_scenes() {
  const auto tainted = [](ExplainCluster& cluster) {
    cluster.put(kResourceFlavors,
                {{"metadata", {{"name", "f1"}}},
                 {"spec", {{"nodeTaints", {{{"key", "spot"}, {"value", "yes"}, {"effect", "NoSchedule"}}}}}}});
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, ExplainCluster::workload());
  };
  json limits = pods_of("3");
  limits["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["limits"] = {{"cpu", "1"}};
  json gpus = pods_of("3");
  gpus["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["gpu"] = "1";
  json rack = pods_of("3");
  rack["spec"]["podSets"][0]["topologyRequest"] = {{"required", "rack"}};
  json devices = pods_of("3");
  devices["spec"]["podSets"][0]["template"]["spec"]["resourceClaims"] = {{{"name", "gpu"}}};
  return {
      {"a place in a topology",
       with_workload([rack](ExplainCluster&) { return rack; }),
       "NoMatchingFlavor",
       "cannot run on any flavor of ClusterQueue cq",
       {"Flavor f1: the pods ask for a place in a topology; muster knows no topologies",
        "Create the job again without the annotations kueue.x-k8s.io/podset-*"}},
      {"devices",
       with_workload([devices](ExplainCluster&) { return devices; }),
       "Misconfigured",
       "is invalid and cannot be admitted, regardless of quota",
       {"the pods claim devices (resourceClaims), and muster does not count devices",
        "Create the job again without resourceClaims"}},
      {"more than there could ever be",
       with_workload([](ExplainCluster&) { return pods_of("6"); }),
       "ExceedsMaxQuota",
       "cannot be admitted: it requests 12 of cpu, but ClusterQueue cq can use at most 10",
       {"Raise nominalQuota"}},
      {"a taint",
       tainted,
       "NoMatchingFlavor",
       "cannot run on any flavor of ClusterQueue cq",
       {"Flavor f1: the pods do not tolerate its taint spot=yes:NoSchedule"}},
      {"a resource without quota",
       with_workload([gpus](ExplainCluster&) { return gpus; }),
       "NoMatchingFlavor",
       "cannot run on any flavor",
       {"Resource gpu: the ClusterQueue has no quota for this resource"}},
      {"requests above limits",
       with_workload([limits](ExplainCluster&) { return limits; }),
       "Misconfigured",
       "is invalid and cannot be admitted, regardless of quota",
       {"resources validation failed"}},
      {"a LimitRange",
       [](ExplainCluster& cluster) {
         cluster.put(kLimitRanges, {{"metadata", {{"name", "small"}}},
                                    {"spec", {{"limits", {{{"type", "Container"}, {"max", {{"cpu", "1"}}}}}}}}});
         cluster.put(kJobs, ExplainCluster::job());
         cluster.put(kWorkloads, ExplainCluster::workload());
       },
       "Misconfigured",
       "is invalid and cannot be admitted, regardless of quota",
       {"resources didn't satisfy LimitRange constraints: "}},
  };
}

}  // namespace muster::test
