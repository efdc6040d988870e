// Pods, groups and sets of pods, gangs, and kinds that muster does not queue, read or watch.
#include <algorithm>

#include "api/meta/constants.h"
#include "jobs/naming/named_kind.h"
#include "jobs/workload_name.h"
#include "kinds/serving_types.h"
#include "test/explain/pod_objects.h"
#include "test/explain/reason_scenes.h"

namespace muster::test {
namespace {

using Arrange = std::function<void(ExplainCluster&)>;

ExplainRow of_all_kinds(ExplainRow scene) {
  scene.settings = with_all_kinds();
  return scene;
}

Arrange put_pod(const json& pod) {
  return [pod](ExplainCluster& cluster) { cluster.put(kQueuedPods, pod); };
}

json stateful_set(int replicas) {
  return {{"metadata", {{"name", "db"}, {"uid", "db-uid"}, {"labels", {{std::string(kQueueNameLabel), "lq"}}}}},
          {"spec", {{"replicas", replicas}, {"template", ExplainCluster::pod_template("3")}}}};
}

// An admitted set with one pod, which is ready.
void run_set(ExplainCluster& cluster) {
  cluster.put(kStatefulSets, stateful_set(1));
  const std::string name = jobs::workload_name({"apps", "StatefulSet", "db", "db-uid"}, "", 253);
  json workload = workload_of_group(name, {}, cluster.admitted());
  workload["spec"]["podSets"][0]["count"] = 1;
  workload["metadata"]["labels"] = {{std::string(kJobUidLabel), "db-uid"}};
  workload["metadata"]["ownerReferences"] = {
      {{"apiVersion", "apps/v1"}, {"kind", "StatefulSet"}, {"name", "db"}, {"uid", "db-uid"}}};
  cluster.put(kWorkloads, workload);
  json pod = queued_pod_of("db-0", of_group(name, 1));
  pod["metadata"]["annotations"][std::string(kSuspendingParent)] = "statefulset";
  pod["metadata"]["ownerReferences"] = controlled_by(kStatefulSets, "db", "db-uid");
  pod["spec"].erase("schedulingGates");
  pod["status"] = {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
  cluster.put(kQueuedPods, pod);
}

// A gang outside of the queues, of which one pod has started.
void run_gang(ExplainCluster& cluster) {
  json job = ExplainCluster::job({{"metadata", {{"labels", nullptr}}}, {"spec", {{"suspend", false}}}});
  json& pod_template = job["spec"]["template"];
  pod_template["spec"]["initContainers"] = {
      {{"name", kGroupInitContainer},
       {"image", "m"},
       {"command", {"/muster-wait", "30"}},
       {"args", json::array({"--timeout-seconds=30"})},
       {"volumeMounts", {{{"name", kGroupVolume}, {"mountPath", kGroupMountPath}}}}}};
  pod_template["spec"]["volumes"] = {
      {{"name", kGroupVolume}, {"configMap", {{"name", "train.job-group-scheduling"}, {"optional", true}}}}};
  pod_template["metadata"] = {{"labels", {{kGroupLabel, "true"}}}, {"annotations", {{kGroupEpochAnnotation, "e"}}}};
  job["status"] = {{"active", 1}};
  cluster.put(kJobs, job);
  cluster.put(kPods, {{"metadata",
                       {{"name", "train-0-x"},
                        {"labels", {{kGroupLabel, "true"}, {kControllerUidLabel, "job-uid"}}},
                        {"annotations", {{kGroupEpochAnnotation, "e"}, {kCompletionIndexAnnotation, "0"}}},
                        {"ownerReferences", controlled_by(kJobs, "train", "job-uid")}}},
                      {"spec", pod_template["spec"]},
                      {"status",
                       {{"phase", "Pending"},
                        {"initContainerStatuses",
                         json::array({{{"name", kGroupInitContainer},
                                       {"state", {{"running", {{"startedAt", "2026-01-01T11:59:50Z"}}}}}}})}}}});
}

// A JobSet outside of the queues of one Job, with the Job or without it.
Arrange run_jobset(bool with_job) {
  return [with_job](ExplainCluster& cluster) {
    json jobset = {
        {"metadata", {{"name", "sets"}, {"uid", "sets-uid"}}},
        {"spec",
         {{"replicatedJobs",
           json::array(
               {{{"name", "w"},
                 {"replicas", 1},
                 {"template", {{"spec", {{"parallelism", 1}, {"template", ExplainCluster::pod_template("1")}}}}}}})}}}};
    cluster.put(kJobSets, jobset);
    if (!with_job) return;
    cluster.put(kJobs, {{"metadata",
                         {{"name", "sets-w-0"},
                          {"labels", {{kJobSetNameKey, "sets"}, {kReplicatedJobNameKey, "w"}}},
                          {"ownerReferences", controlled_by(kJobSets, "sets", "sets-uid")}}},
                        {"spec", {{"parallelism", 1}}},
                        {"status", {{"active", 1}}}});
  };
}

// A Job that is a part of an MPIJob with quota for two pods.
Arrange put_part(int pods) {
  return [pods](ExplainCluster& cluster) {
    const ResourceType& type = jobs::find_job_kind("kubeflow.org", "MPIJob")->type;
    const json owner = controlled_by(type, "all", "u");
    cluster.put(type, {{"metadata", {{"name", "all"}, {"uid", "u"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                       {"spec", json::object()}});
    json workload = ExplainCluster::workload(cluster.admitted());
    workload["metadata"]["ownerReferences"] = owner;
    workload["spec"]["podSets"][0]["name"] = "launcher";
    cluster.put(kWorkloads, workload);
    json part = ExplainCluster::job({{"spec", {{"parallelism", pods}, {"completions", pods}}}});
    part["metadata"]["ownerReferences"] = owner;
    cluster.put(kJobs, part);
  };
}

}  // namespace

Scenes scenes_of_pods() {
  json running = queued_pod_of("one", {{"status", {{"phase", "Running"}}}});
  running["spec"].erase("schedulingGates");
  json member =
      queued_pod_of("one", {{"metadata", {{"annotations", {{std::string(kSuspendingParent), "statefulset"}}}}}});
  member["metadata"]["ownerReferences"] = controlled_by(kStatefulSets, "db", "db-uid");
  const auto started = [running](ExplainCluster& cluster) {
    cluster.put(kQueuedPods, running);
    cluster.put(kWorkloads, workload_of_pod("one", cluster.admitted()));
  };
  Scenes scenes = {
      {"a pod is missing in its group",
       put_pod(queued_pod_of("one", of_group("group", 3))),
       "PodGroupIncomplete",
       "waits for the other pods of its group",
       {},
       &kPods,
       "one"},
      {"a new pod", put_pod(queued_pod_of("one")), "WorkloadNotCreated", "has no Workload yet", {}, &kPods, "one"},
      {"a pod that runs without a Workload", put_pod(running), "Stopping", "muster deletes it", {}, &kPods, "one"},
      {"a pod of a set", put_pod(member), "OwnedByQueuedJob", "is part of StatefulSet db", {}, &kPods, "one"},
      {"an admitted pod", started, "PodsNotReady", "0 of its 1 pods are ready", {}, &kPods, "one"},
      {"the Workload of an admitted pod", started, "PodsNotReady", "0 of its 1 pods", {}, &kWorkloads, "pod-one"},
      {"a set without replicas",
       [](ExplainCluster& cluster) { cluster.put(kStatefulSets, stateful_set(0)); },
       "NoReplicas",
       "has no replicas",
       {},
       &kStatefulSets,
       "db"},
      {"a new set",
       [](ExplainCluster& cluster) { cluster.put(kStatefulSets, stateful_set(2)); },
       "WorkloadNotCreated",
       "has no Workload yet",
       {},
       &kStatefulSets,
       "db"},
      {"a set that runs", run_set, "Running", "1 of its 1 pods are ready", {}, &kStatefulSets, "db"},
      {"a gang at its start barrier", run_gang, "StartBarrier", "1 of 2 pods have started"},
      {"a JobSet without Jobs", run_jobset(false), "JobsMissing", "it has no Jobs", {}, &kJobSets, "sets"},
      {"a JobSet with its Job", run_jobset(true), "PodsNotReady", "0/1 pods ready, 1 active", {}, &kJobSets, "sets"},
  };
  std::transform(scenes.begin(), scenes.end(), scenes.begin(), of_all_kinds);
  return scenes;
}

Scenes scenes_of_kinds() {
  const ResourceType& train_job = jobs::find_job_kind("trainer.kubeflow.org", "TrainJob")->type;
  const auto put_train_job = [&train_job](ExplainCluster& cluster) {
    cluster.put(train_job,
                {{"metadata", {{"name", "train"}, {"uid", "job-uid"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                 {"spec",
                  {{"suspend", true},
                   {"runtimeRef",
                    {{"name", "torch"}, {"kind", "ClusterTrainingRuntime"}, {"apiGroup", "trainer.kubeflow.org"}}}}}});
  };
  const auto conflict = [](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, ExplainCluster::workload(json::object(),
                                                     jobs::workload_name({"batch", "Job", "train", "job-uid"}, "", 253),
                                                     "other", "other-uid"));
  };
  const auto rejected = [](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job());
    cluster.state.writes().note_rejection({&kJobs, "team-a", "train"}, {&kWorkloads, "team-a", "job-train"},
                                          "exceeded quota: small");
  };
  Scenes scenes = {
      {"a runtime is missing", put_train_job, "InvalidPodSets", "cannot be queued: ", {}, &train_job},
      {"a Workload has its name", conflict, "WorkloadNameConflict", "exists and has another owner"},
      {"part of a whole",
       put_part(2),
       "OwnedByQueuedJob",
       "muster will not start it",
       {"It is part of MPIJob all, which is queued as a whole.", "muster explain mpijob/all -n team-a"}},
      {"a part that is larger",
       put_part(3),
       "OwnedByQueuedJob",
       "muster will not start it",
       {"It may not run: this Job, with the older ones of its controller, requests more than the quota of MPIJob"}},
      {"a kind that is not watched",
       [](ExplainCluster&) {},
       "KindNotWatched",
       "does not watch objects of kind CronJob",
       {},
       jobs::find_named_kind("cronjob")->type,
       "nightly"},
  };
  std::transform(scenes.begin(), scenes.end(), scenes.begin(), of_all_kinds);
  ExplainRow refused = {"the API server refuses its Workload", rejected, "CreationRefused", "exceeded quota: small"};
  refused.without_leader = "WorkloadNotCreated";
  ExplainRow unsupported = {"what muster does not do",
                            [](ExplainCluster& cluster) {
                              cluster.put(kJobSets,
                                          {{"metadata", {{"name", "sets"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
                                           {"spec", {{"failurePolicy", {{"restartStrategy", "RestartSlowly"}}}}}});
                            },
                            "Unsupported",
                            "asks for what muster does not do",
                            {},
                            &kJobSets,
                            "sets"};
  unsupported.settings.queues.rules.jobset_mode = JobSetMode::kNative;
  const ExplainRow unqueued = {"a pod, which is not queued",
                               put_pod(queued_pod_of("one")),
                               "KindNotQueued",
                               "muster does not queue Pods here",
                               {},
                               &kPods,
                               "one"};
  scenes.insert(scenes.end(), {refused, unsupported, unqueued});
  return scenes;
}

Scenes all_scenes() {
  Scenes all;
  for (const Scenes& scenes :
       {unqueued_scenes(), scenes_without_workload(), scenes_kept_out(), refused_scenes(), waiting_scenes(),
        scenes_with_quota(), ended_scenes(), flavor_scenes(), scenes_of_pods(), scenes_of_kinds()})
    all.insert(all.end(), scenes.begin(), scenes.end());
  return all;
}

}  // namespace muster::test
