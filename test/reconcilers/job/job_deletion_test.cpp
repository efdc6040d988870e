// Quota is given back when nothing of a job runs, ends or was orphaned, and not before.
#include <doctest/doctest.h>

#include "api/meta/constants.h"
#include "reconcilers/pod_search.h"
#include "reconcilers/workload/pods_left.h"
#include "reconcilers/workload/workload.h"
#include "test/reconcilers/job/running_train.h"

namespace job_deletion_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

// A job of a described kind with one pod set, with quota.
struct RunningKind : ReconciledCluster {
  RunningKind(const char* group, const char* kind_name, const json& spec, const char* pod_set)
      : ReconciledCluster({&job_workload_reconciler, &workload_reconciler}),
        kind(*jobs::find_job_kind(group, kind_name)),
        kTrain{&kind.type, kNs, "train"} {
    settings.queues.rules.frameworks.emplace(kind.framework);
    put(kResourceFlavors, "f", json::object());
    put(kClusterQueues, "cq", cluster_queue_of({quota_of("f", {{"cpu", "9"}})}));
    put(kLocalQueues, "q", {{"spec", {{"clusterQueue", "cq"}}}});
    put(kind.type, "train",
        {{"metadata", {{"uid", "job-uid"}, {"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}, {"spec", spec}});
    settle(kTrain);
    workload = names(kWorkloads).at(0);
    edit(kWorkloads, workload, [&](json& object) {
      const json assignment = {
          {"name", pod_set}, {"count", 1}, {"flavors", {{"cpu", "f"}}}, {"resourceUsage", {{"cpu", "1"}}}};
      object["status"] = {{"admission", {{"clusterQueue", "cq"}, {"podSetAssignments", json::array({assignment})}}},
                          {"conditions", json::array({true_condition("QuotaReserved", "QuotaReserved"),
                                                      true_condition("Admitted", "Admitted")})}};
    });
    settle(kTrain);
  }
  void add_pod(const json& labels) {
    put(kPods, "train-0", {{"metadata", {{"labels", labels}}}, {"status", {{"phase", "Running"}}}});
  }
  void live(std::chrono::minutes minutes) {
    for (int i = 0; i < minutes.count(); ++i) {
      settle(kTrain);
      settle({&kWorkloads, kNs, workload});
      pass(1min);
    }
  }
  bool is_finished() const { return condition_of(kWorkloads, workload, "Finished").starts_with("True"); }

  const jobs::JobKind& kind;
  const ObjectKey kTrain;
  std::string workload;
};

}  // namespace

TEST_CASE("deleted job: an eviction has garbage collection delete its pods, and the quota waits for them") {
  Running cluster;
  cluster.delete_held();
  cluster.live(10min);
  CHECK(cluster.has_quota());
  CHECK(cluster.get(kJobs, "train")["metadata"]["finalizers"] == json{kHeld});
  cluster.evict();
  cluster.settle(cluster.kTrain);
  CHECK(cluster.get(kJobs, "train")["metadata"]["finalizers"] == json{kHeld, "foregroundDeletion"});
  CHECK(cluster.note_of("Stopped") == "Normal: room");
  cluster.live(10min);
  CHECK(cluster.count_events("Stopped") == 1);
  CHECK(cluster.has_quota());
  // The Job says that no pod is active, as it does of orphaned ones.
  cluster.edit(kJobs, "train", [](json& job) { job["status"]["active"] = 0; });
  cluster.live(10min);
  CHECK(cluster.has_quota());
  cluster.vanish(kPods, "train-0");
  cluster.live(2min);
  CHECK(cluster.get(kWorkloads, cluster.workload).is_null());
  CHECK_FALSE(cluster.get(kJobs, "train").is_null());
}

TEST_CASE("deleted job: the status of a JobSet that its controller leaves as it was holds no quota") {
  json pod_template = pod_template_of();
  const json replicated = {{"name", "w"}, {"replicas", 1}, {"template", {{"spec", {{"template", pod_template}}}}}};
  RunningKind cluster("jobset.x-k8s.io", "JobSet", {{"suspend", true}, {"replicatedJobs", json::array({replicated})}},
                      "w");
  cluster.edit(kJobSets, "train", [](json& jobset) {
    jobset["status"] = {{"replicatedJobsStatus", json::array({{{"name", "w"}, {"active", 1}}})}};
    jobset["metadata"]["finalizers"] = {"foregroundDeletion"};
    jobset["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  });
  cluster.live(2min);
  CHECK(cluster.get(kWorkloads, cluster.workload).is_null());
}

TEST_CASE("deleted job: it gets no quota, and one that is not admitted yet is given up") {
  JobCluster cluster;
  const ObjectKey train{&kJobs, kNs, "train"};
  cluster.put(kJobs, "train", queued_job(3));
  cluster.settle(train);
  REQUIRE(cluster.names(kWorkloads).size() == 1);
  cluster.edit(kJobs, "train", [](json& job) {
    job["metadata"]["finalizers"] = {kHeld};
    job["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  });
  cluster.settle(train);
  CHECK(cluster.names(kWorkloads).empty());
  CHECK(cluster.settle(train).empty());
}

TEST_CASE("deleted job: one that has ended ends its Workload") {
  Running cluster;
  cluster.delete_held();
  cluster.vanish(kPods, "train-0");
  cluster.edit(kJobs, "train", [](json& job) {
    job["status"] = {{"succeeded", 3}, {"conditions", json::array({true_condition("Complete", "Done", "all well")})}};
  });
  cluster.settle(cluster.kTrain);
  CHECK(cluster.condition_of(kWorkloads, cluster.workload, "Finished") == "True Succeeded");
  CHECK_FALSE(cluster.get(kWorkloads, cluster.workload)["metadata"].contains("finalizers"));
}

TEST_CASE("gone job: its Workload keeps the quota while pods end or were orphaned, and asks ever less often") {
  for (const bool orphaned : {false, true}) {
    CAPTURE(orphaned);
    Running cluster;
    cluster.edit(kWorkloads, cluster.workload, [&](json& object) {
      if (orphaned)
        object["metadata"].erase("ownerReferences");
      else
        object["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
    });
    cluster.vanish(kJobs, "train");
    cluster.live(2min);
    const int before = cluster.writes["pods"];
    cluster.live(60min);
    CHECK(cluster.writes["pods"] - before <= 60);
    CHECK(cluster.has_quota());
    cluster.edit(kPods, "train-0", [](json& pod) { pod["status"]["phase"] = "Succeeded"; });
    cluster.live(2min);
    CHECK_FALSE(cluster.has_quota());
    if (orphaned) CHECK(cluster.condition_of(kWorkloads, cluster.workload, "Finished") == "True OwnerNotFound");
  }
}

TEST_CASE("gone job: pods on a Node that does not answer count no longer") {
  Running cluster;
  cluster.edit(kWorkloads, cluster.workload, [](json& object) { object["metadata"].erase("ownerReferences"); });
  cluster.vanish(kJobs, "train");
  cluster.edit(kPods, "train-0", [&](json& pod) {
    pod["metadata"]["deletionTimestamp"] = cluster.stamp(30s);
    pod["metadata"]["deletionGracePeriodSeconds"] = 30;
  });
  cluster.live(5min);
  CHECK(cluster.has_quota());
  cluster.live(3min);
  CHECK_FALSE(cluster.has_quota());
}

TEST_CASE("deleted job: a deletion that changes nothing is repeated after pauses") {
  Running cluster;
  cluster.delete_held();
  cluster.evict();
  const auto deletion = [&]() -> std::optional<state::Maker> {
    for (const Write& write : cluster.reconcile(cluster.kTrain).writes)
      if (write.verb == Verb::kDelete) return write.maker.value_or(state::Maker());
    return std::nullopt;
  };
  cluster.settle(cluster.kTrain);
  // Garbage collection has found nothing that blocks the deletion.
  cluster.edit(kJobs, "train", [](json& job) { job["metadata"]["finalizers"] = {kHeld}; });
  const auto maker = deletion();
  REQUIRE(maker);
  CHECK(*maker == state::Maker{"job-uid", "deletion"});
  state::WritePauses& pauses = cluster.state.writes().pauses();
  for (int i = 0; i < 2; ++i) {
    pauses.begin_round();
    (void)pauses.ask_to_delete(*maker, cluster.now().monotonic);
  }
  CHECK_FALSE(deletion());
  CHECK(cluster.reconcile(cluster.kTrain).again_at.has_value());
}

TEST_CASE("gone job: of one whose labels neither its name nor its uid says the Workload knows them") {
  const auto orphan_and_check = [](auto& cluster, const ResourceType& type, const char* selector) {
    CHECK(cluster.get(kWorkloads, cluster.workload)["metadata"]["annotations"].value("muster.batch/pod-selector", "") ==
          selector);
    cluster.edit(kWorkloads, cluster.workload, [](json& object) { object["metadata"].erase("ownerReferences"); });
    cluster.vanish(type, "train");
    cluster.live(10min);
    CHECK(cluster.condition_of(kWorkloads, cluster.workload, "QuotaReserved").starts_with("True"));
    CHECK_FALSE(cluster.condition_of(kWorkloads, cluster.workload, "Finished").starts_with("True"));
    cluster.vanish(kPods, "train-0");
    cluster.live(2min);
    CHECK(cluster.condition_of(kWorkloads, cluster.workload, "Finished") == "True OwnerNotFound");
  };
  SUBCASE("a Job with manualSelector") {
    Running cluster;
    cluster.vanish(kPods, "train-0");
    cluster.edit(kJobs, "train", [](json& job) {
      job["spec"]["manualSelector"] = true;
      job["spec"]["selector"] = {{"matchLabels", {{"app", "mine"}}}};
    });
    cluster.put(kPods, "train-0", {{"metadata", {{"labels", {{"app", "mine"}}}}}, {"status", {{"phase", "Running"}}}});
    cluster.settle(cluster.kTrain);
    orphan_and_check(cluster, kJobs, "app=mine");
  }
  SUBCASE("a RayJob, whose cluster has a name by chance") {
    RunningKind cluster("ray.io", "RayJob",
                        {{"suspend", true},
                         {"submissionMode", "HTTPMode"},
                         {"shutdownAfterJobFinishes", true},
                         {"rayClusterSpec", {{"headGroupSpec", {{"template", pod_template_of()}}}}}},
                        "head");
    cluster.edit(cluster.kind.type, "train", [](json& job) {
      job["status"] = {{"jobDeploymentStatus", "Running"}, {"rayClusterName", "train-x1y2z"}};
    });
    cluster.add_pod({{"ray.io/cluster", "train-x1y2z"}});
    cluster.settle(cluster.kTrain);
    orphan_and_check(cluster, cluster.kind.type, "ray.io/cluster=train-x1y2z");
  }
}

TEST_CASE("ended job: pods that its controller lets run keep the quota") {
  RunningKind cluster("kubeflow.org", "PyTorchJob",
                      {{"runPolicy", {{"suspend", true}}},
                       {"pytorchReplicaSpecs", {{"Master", {{"replicas", 1}, {"template", pod_template_of()}}}}}},
                      "master");
  cluster.add_pod(
      {{"training.kubeflow.org/job-name", "train"}, {"training.kubeflow.org/operator-name", "pytorchjob-controller"}});
  cluster.edit(cluster.kind.type, "train", [](json& job) {
    job["status"] = {{"conditions", json::array({true_condition("Succeeded", "PyTorchJobSucceeded", "all well")})}};
  });
  cluster.live(10min);
  CHECK_FALSE(cluster.is_finished());
  CHECK(cluster.note_of("PodsLeft").starts_with("Warning: The PyTorchJob has ended, and pods of it still run"));
  cluster.vanish(kPods, "train-0");
  cluster.live(2min);
  CHECK(cluster.is_finished());
}

TEST_CASE("stopped job: a Workload that is deleted keeps its quota while pods end") {
  Running cluster;
  cluster.edit(kWorkloads, cluster.workload,
               [](json& object) { object["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"; });
  cluster.live(3min);
  CHECK(cluster.get(kJobs, "train")["spec"]["suspend"] == true);
  CHECK(cluster.has_quota());
  cluster.edit(kJobs, "train", [](json& job) { job["status"] = {{"active", 0}, {"terminating", 1}}; });
  cluster.live(3min);
  CHECK(cluster.has_quota());
  cluster.edit(kJobs, "train", [](json& job) { job["status"]["terminating"] = 0; });
  cluster.live(2min);
  CHECK_FALSE(cluster.has_quota());
}

TEST_CASE("pods left: the name of a Workload says which job it was made for") {
  const auto kind_of = [](const char* name) {
    Workload workload;
    workload.meta.name = name;
    workload.meta.ns = kNs;
    const DeletedJob job = gone_job_of(workload);
    return job.kind == nullptr ? std::string("none") : std::string(job.kind->type.kind) + " " + job.name;
  };
  CHECK(kind_of("job-train-1a2b3") == "Job train");
  CHECK(kind_of("job-set-train-1a2b3") == "Job set-train");
  CHECK(kind_of("jobset-train-1a2b3") == "JobSet train");
  CHECK(kind_of("rayjob-a-b-1a2b3") == "RayJob a-b");
  CHECK(kind_of("pod-train-1a2b3") == "none");
  CHECK(kind_of("job-1a2b") == "none");
  CHECK(kind_of("mine") == "none");
}

TEST_CASE("pods left: a pod of a later job of the same name does not count") {
  Write search{
      .verb = Verb::kFindPods, .target = {&kPods, kNs, "a=b"}, .body = {{"createdBefore", "2026-01-01T12:00:00Z"}}};
  const auto created = [](const char* time) {
    return json{{"metadata", {{"creationTimestamp", time}, {"ownerReferences", json::array({{{"uid", "u"}}})}}}};
  };
  CHECK(is_left(search, created("2026-01-01T11:59:59Z")));
  CHECK_FALSE(is_left(search, created("2026-01-01T12:00:00Z")));
  json orphan = created("2026-01-01T12:00:00Z");
  orphan["metadata"].erase("ownerReferences");
  CHECK(is_left(search, orphan));
  search.body = {{"deletedBefore", "2026-01-01T11:55:00Z"}};
  json pod = created("2026-01-01T10:00:00Z");
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T11:55:00Z";
  CHECK_FALSE(is_left(search, pod));
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T11:55:01Z";
  CHECK(is_left(search, pod));
  pod["metadata"]["deletionGracePeriodSeconds"] = 3600;
  search.body["longestGraceSeconds"] = 600;
  CHECK_FALSE(is_left(search, pod));
  CHECK(label_selector_of(search) == "a=b");
}

}  // namespace job_deletion_test
