// When a group is complete: the rows of the KEP's review that are about counting.
#include "test/reconcilers/gang/group_scheduling_support.h"

namespace group_scheduling_count_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

TEST_CASE("group: started only when the waiter of every pod of every target has started") {
  GangCluster cluster = five_pods();
  const auto pods = cluster.make_pods();
  REQUIRE(pods.size() == 5);
  for (const std::string& pod : pods) {
    cluster.settle();
    CHECK(cluster.started().empty());
    cluster.start(pod);
    cluster.pass(seconds(1));
  }
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
  CHECK(cluster.expired().empty());
  CHECK(cluster.note_of("GroupStarted") == "Normal: 5 pods started within 5 s");
  CHECK(contains(cluster.condition(), "True AllPodsStarted"));
}

TEST_CASE("group: a pod that is only scheduled or running other init containers has not started") {
  GangCluster cluster;
  cluster.make_own_job(2);
  const auto pods = cluster.make_pods();
  cluster.start(pods[0]);
  cluster.patch(kPods, pods[1],
                {{"spec", {{"nodeName", "n1"}}},
                 {"status",
                  {{"startTime", cluster.stamp()},
                   {"conditions", json::array({{{"type", "PodScheduled"}, {"status", "True"}}})}}}});
  cluster.settle();
  CHECK(cluster.started().empty());
  cluster.start(pods[1]);
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: only targets are counted") {
  GangCluster cluster;
  cluster.make_jobset({{"driver", 1, 3, false}, {"workers", 1, 2}});
  cluster.start(cluster.make_pods());
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: every Job of every target must exist and be unsuspended") {
  GangCluster cluster = five_pods();
  cluster.vanish(kJobs, "train-workers-1");
  cluster.start(cluster.make_pods());
  cluster.settle();
  CHECK(cluster.started().empty());

  cluster.make_job({"workers", 2, 2}, 1, true);
  cluster.settle();
  CHECK(cluster.started().empty());
  cluster.patch(kJobs, "train-workers-1", {{"spec", {{"suspend", false}}}});
  cluster.settle();
  CHECK(cluster.started().empty());
  cluster.start({cluster.make_pod("train-workers-1", 0), cluster.make_pod("train-workers-1", 1)});
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: finished indexes and finished Jobs are not waited for") {
  GangCluster cluster = five_pods();
  cluster.patch(kJobs, "train-workers-0", {{"status", {{"succeeded", 1}, {"completedIndexes", "0"}}}});
  cluster.patch(
      kJobs, "train-driver-0",
      {{"status", {{"succeeded", 1}, {"conditions", json::array({{{"type", "Complete"}, {"status", "True"}}})}}}});
  cluster.start({cluster.make_pod("train-workers-0", 1), cluster.make_pod("train-workers-1", 0),
                 cluster.make_pod("train-workers-1", 1)});
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: pods that do not count") {
  struct Row {
    const char* name;
    json patch;
  };
  const Row rows[] = {
      {"a pod that is being deleted", {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}}},
      {"a pod that has failed", {{"status", {{"phase", "Failed"}}}}},
      {"a pod of an earlier restart attempt", {{"metadata", {{"labels", {{kRestartAttemptLabel, "7"}}}}}}},
      {"a pod of an earlier epoch", {{"metadata", {{"annotations", {{kGroupEpochAnnotation, "epoch-0"}}}}}}},
      {"a pod of a namesake JobSet", {{"metadata", {{"labels", {{kJobSetUidLabel, "another-uid"}}}}}}},
      {"a pod whose controller is a namesake of the Job",
       {{"metadata", {{"ownerReferences", controlled_by(kJobs, "train-driver-0", "another-uid")}}}}},
      {"a pod that somebody made by hand", {{"metadata", {{"ownerReferences", nullptr}}}}},
      {"a second pod of an index that is there",
       {{"metadata",
         {{"annotations", {{kCompletionIndexAnnotation, "1"}}},
          {"ownerReferences", controlled_by(kJobs, "train-workers-0", "workers-0-uid")}}}}},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    INFO(name);
    GangCluster cluster = five_pods();
    cluster.vanish(kJobs, "train-workers-0");
    cluster.make_job({"workers", 2, 2}, 0);
    json job = cluster.get(kJobs, "train-workers-0");
    job["metadata"]["uid"] = "workers-0-uid";
    cluster.vanish(kJobs, "train-workers-0");
    cluster.put(kJobs, job);
    cluster.start(cluster.make_pods());
    const std::string odd = "train-driver-0-0-x";
    cluster.patch(kPods, odd, row.patch);
    cluster.settle();
    CHECK(cluster.started().empty());
    cluster.vanish(kPods, odd);
    cluster.start(cluster.make_pod("train-driver-0", 0, "y"));
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
}

TEST_CASE("group: the total follows elastic Jobs and a started run is never taken back") {
  GangCluster cluster;
  cluster.make_own_job(3);
  const auto pods = cluster.make_pods();
  cluster.start({pods[0], pods[1]});
  cluster.settle();
  CHECK(cluster.started().empty());
  cluster.patch(kJobs, "train", {{"spec", {{"parallelism", 2}, {"completions", 2}}}});
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
  cluster.patch(kJobs, "train", {{"spec", {{"parallelism", 5}, {"completions", 5}}}});
  CHECK(cluster.make_pod("train", 3) == "train-3-x");
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
  CHECK(contains(cluster.condition(), "True AllPodsStarted"));
}

TEST_CASE("group: a Job without pods to come is not decided") {
  GangCluster cluster;
  cluster.make_own_job(0);
  CHECK(cluster.settle() == Texts{"create configmaps/train.job-group-scheduling"});
  cluster.pass(seconds(2 * kTimeout));
  cluster.settle();
  CHECK(cluster.started().empty());
  CHECK(cluster.expired().empty());
}

TEST_CASE("group: a restarted JobSet waits anew although its first run has started") {
  GangCluster cluster = five_pods();
  cluster.start(cluster.make_pods());
  cluster.settle();
  const std::string first = cluster.line();
  REQUIRE(cluster.started() == first);

  // The old Jobs are on their way out while the new ones come.
  cluster.attempt = 1;
  for (const std::string& job : cluster.job_names()) {
    cluster.patch(kJobs, job, {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}});
  }
  cluster.settle();
  for (const std::string& job : cluster.job_names()) cluster.vanish(kJobs, job);
  cluster.make_jobs();
  cluster.settle();
  CHECK(contains(cluster.condition(), "False WaitingForPods: 0 of 5 pods have started"));
  cluster.start({cluster.make_pod("train-driver-0", 0, "y"), cluster.make_pod("train-workers-0", 0, "y"),
                 cluster.make_pod("train-workers-0", 1, "y"), cluster.make_pod("train-workers-1", 0, "y")});
  cluster.settle();
  CHECK(cluster.started() == first);
  cluster.start(cluster.make_pod("train-workers-1", 1, "y"));
  cluster.settle();
  CHECK(contains(cluster.started(), cluster.line()));
  CHECK(contains(cluster.condition(), "True AllPodsStarted"));
}

TEST_CASE("group: an older attempt is not started while Jobs of a newer one exist") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 2, 1}});
  cluster.start(cluster.make_pods());
  cluster.attempt = 1;
  cluster.vanish(kJobs, "train-workers-0");
  cluster.make_job({"workers", 2, 1}, 0);
  cluster.settle();
  CHECK(cluster.started().empty());
}

TEST_CASE("group: a resumed JobSet waits anew under its new epoch") {
  GangCluster cluster = five_pods();
  cluster.start(cluster.make_pods());
  cluster.settle();
  cluster.epoch = "epoch-2";
  for (const std::string& job : cluster.job_names()) cluster.vanish(kJobs, job);
  cluster.make_jobs();
  const auto pods = cluster.make_pods();
  cluster.settle();
  CHECK_FALSE(contains(cluster.started(), cluster.line()));
  cluster.start(pods);
  cluster.settle();
  CHECK(contains(cluster.started(), cluster.line()));
}

TEST_CASE("group: after a suspend that was half undone the Jobs that ran on are not waited for") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 2, 1}});
  const auto pods = cluster.make_pods();
  cluster.start(pods);
  cluster.settle();
  REQUIRE(cluster.started() == cluster.line());
  // train-workers-0 was suspended, and is resumed with the new epoch; the other one never was.
  cluster.patch(kJobs, "train-workers-0", {{"spec", {{"suspend", true}}}});
  cluster.vanish(kPods, pods[0]);
  cluster.settle();
  const std::string old_epoch = cluster.epoch;
  cluster.epoch = "epoch-2";
  cluster.patch(kJobs, "train-workers-0",
                {{"spec", {{"suspend", false}, {"template", waiting_template("train-group-scheduling", "epoch-2")}}}});
  CHECK_FALSE(contains(cluster.started(), cluster.line()));
  cluster.start(cluster.make_pod("train-workers-0", 0, "y"));
  cluster.settle();
  CHECK(contains(cluster.started(), cluster.line()));
  CHECK(contains(cluster.started(), "jobset-uid/0/" + old_epoch + "\n"));
}

TEST_CASE("group: Jobs left on two epochs before any decision start together") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 2, 1}});
  cluster.patch(kJobs, "train-workers-1",
                {{"spec", {{"template", waiting_template("train-group-scheduling", "epoch-2")}}}});
  const auto pods = cluster.make_pods();
  cluster.start(pods[0]);
  cluster.settle();
  CHECK(cluster.started().empty());
  cluster.start(pods[1]);
  cluster.settle();
  CHECK(cluster.started() == "jobset-uid/0/epoch-1\njobset-uid/0/epoch-2\n");
}

TEST_CASE("group: a resumed Job whose epochs are mixed waits for the Jobs that are still suspended") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 2, 1}});
  const auto pods = cluster.make_pods();
  cluster.start(pods);
  cluster.settle();
  cluster.patch(kJobs, "train-workers-1", {{"spec", {{"suspend", true}}}});
  cluster.patch(kJobs, "train-workers-0",
                {{"spec", {{"template", waiting_template("train-group-scheduling", "epoch-2")}}}});
  cluster.start(cluster.make_pod("train-workers-0", 0, "y"));
  cluster.settle();
  CHECK_FALSE(contains(cluster.started(), "epoch-2"));
}

TEST_CASE("group: a replaced member of a started run is not waited for") {
  GangCluster cluster;
  cluster.make_own_job(2);
  const auto pods = cluster.make_pods();
  cluster.start(pods);
  cluster.settle();
  for (const std::string& pod : pods) cluster.pass_barrier(pod);
  cluster.vanish(kPods, pods[1]);
  CHECK(cluster.make_pod("train", 1, "y") == "train-1-y");
  CHECK(cluster.settle().empty());
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: a Job inside a gang JobSet is not a gang of its own") {
  GangCluster cluster = five_pods();
  const ObjectKey child{&kJobs, kNs, "train-workers-0"};
  CHECK(group_scheduling_reconciler.reconcile(child, cluster.context()).writes.empty());
  std::vector<ObjectKey> keys;
  group_scheduling_reconciler.requests_for(cluster.state, read_object(kJobs, cluster.get(kJobs, "train-workers-0")),
                                           keys);
  const std::string pod = cluster.make_pod("train-workers-0", 0);
  group_scheduling_reconciler.requests_for(cluster.state, read_object(kPods, cluster.get(kPods, pod)), keys);
  REQUIRE(keys.size() == 2);
  for (const ObjectKey& key : keys) CHECK(to_text(key) == "jobsets/team-a/train");
}

TEST_CASE("group: an annotated Job inside a JobSet that is no gang is a gang of its own") {
  GangCluster cluster;
  cluster.make_own_job(2);
  json job = cluster.get(kJobs, "train");
  job["metadata"]["ownerReferences"] = controlled_by(kJobSets, "outer", "outer-uid");
  job["metadata"]["labels"] = {{kJobSetNameKey, "outer"}, {kRestartAttemptLabel, "3"}};
  cluster.put(kJobs, job);
  cluster.start(cluster.make_pods());
  cluster.settle();
  CHECK(cluster.started() == "job-uid/0/epoch-1\n");
}

TEST_CASE("group: another controller's gang is left alone") {
  GangCluster cluster = five_pods();
  cluster.start(cluster.make_pods());
  cluster.patch(kJobSets, "train", {{"spec", {{"managedBy", "example.com/elsewhere"}}}});
  CHECK(cluster.settle().empty());
  cluster.patch(kJobSets, "train", {{"spec", {{"managedBy", "jobset.sigs.k8s.io/jobset-controller"}}}});
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

}  // namespace group_scheduling_count_test
