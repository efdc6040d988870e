// The deadline of a run, and what becomes of an owner whose time is over.
#include "test/reconcilers/gang/group_scheduling_support.h"

namespace group_scheduling_deadline_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

// A Job of three pods, of which the last one never starts.
GangCluster incomplete(bool suspend_on_timeout = false) {
  GangCluster cluster;
  cluster.make_own_job(3, suspend_on_timeout);
  cluster.settle();
  const auto pods = cluster.make_pods();
  cluster.start({pods[0], pods[1]});
  cluster.patch(kPods, pods[2],
                {{"status",
                  {{"conditions", json::array({{{"type", "PodScheduled"},
                                                {"status", "False"},
                                                {"reason", "Unschedulable"},
                                                {"message", "0/3 nodes are available"}}})}}}});
  return cluster;
}

std::string deadline_line(const GangCluster& cluster, TimePoint time) {
  return cluster.token() + " " + stamp_of(time) + "\n";
}

}  // namespace

TEST_CASE("group: the deadline counts from the first waiter's start and is stored when it is seen") {
  GangCluster cluster = incomplete();
  const TimePoint first = cluster.now().wall;
  cluster.pass(seconds(7));
  cluster.settle();
  CHECK(cluster.data()["deadlines"] == deadline_line(cluster, first + seconds(kTimeout)));
  CHECK(cluster.reconcile().again_at.value() <= first + seconds(kTimeout));
  CHECK(contains(cluster.note_of("GroupWaiting"), "all 3 pods"));
  CHECK(cluster.count_events("GroupWaiting") == 1);

  // Later waiters, and a first one that is replaced, do not move it.
  cluster.vanish(kPods, "train-0-x");
  cluster.vanish(kPods, "train-1-x");
  cluster.pass(seconds(50));
  cluster.start(cluster.make_pod("train", 0, "y"));
  cluster.settle();
  CHECK(cluster.data()["deadlines"] == deadline_line(cluster, first + seconds(kTimeout)));
  CHECK(cluster.count_events("GroupWaiting") == 1);
}

TEST_CASE("group: before any waiter has started there is no deadline") {
  GangCluster cluster;
  cluster.make_own_job(2);
  CHECK(cluster.make_pods().size() == 2);
  cluster.settle();
  cluster.pass(std::chrono::hours(100));
  cluster.settle();
  CHECK(cluster.expired().empty());
  CHECK(cluster.data()["deadlines"] == "");
}

TEST_CASE("group: a kubelet whose clock is ahead or behind moves the deadline by no more than its pod's age") {
  struct Row {
    const char* name;
    Duration skew;
    Duration expected;  // from the pod's creation
  };
  const Row rows[] = {{"an hour ahead counts as now", std::chrono::hours(1), seconds(10)},
                      {"an hour behind counts as the pod's creation", -std::chrono::hours(1), seconds(0)},
                      {"two seconds ahead of the creation", seconds(2), seconds(2)}};
  for (const Row& row : rows) {
    const std::string name = row.name;
    INFO(name);
    GangCluster cluster;
    cluster.make_own_job(2);
    const TimePoint created = cluster.now().wall;
    const auto pods = cluster.make_pods();
    cluster.waiter(pods[0], {{"running", {{"startedAt", stamp_of(created + row.skew)}}}});
    cluster.pass(seconds(10));
    cluster.settle();
    CHECK(cluster.data()["deadlines"] == deadline_line(cluster, created + row.expected + seconds(kTimeout)));
  }
}

TEST_CASE("group: at the deadline the run is expired once and the Job fails by its controller's hand") {
  GangCluster cluster = incomplete();
  cluster.settle();
  cluster.pass(seconds(kTimeout - 1));
  cluster.settle();
  CHECK(cluster.expired().empty());
  cluster.pass(seconds(1));
  const auto writes = cluster.settle();
  CHECK(writes == Texts{"patch configmaps/train.job-group-scheduling", "status jobs/train", "status jobs/train"});
  CHECK(cluster.expired() == cluster.line());
  CHECK(cluster.started().empty());
  const std::string who =
      "2 of 3 pods have started within 300 s of the first; missing: train-2-x (Unschedulable: "
      "0/3 nodes are available)";
  CHECK(cluster.note_of("GroupSchedulingTimeout") == "Warning: " + who);
  CHECK(cluster.condition() == "False GroupSchedulingTimeout: " + who);
  CHECK(cluster.condition("FailureTarget") == "True GroupSchedulingTimeout: " + who);
  CHECK(cluster.condition("Failed").empty());

  // A pod that comes too late changes nothing.
  cluster.start("train-2-x");
  CHECK(cluster.settle().empty());
  CHECK(cluster.started().empty());
}

TEST_CASE("group: at the deadline a JobSet fails in one status write") {
  GangCluster cluster = five_pods();
  cluster.patch(kJobSets, "train",
                {{"status",
                  {{"restarts", 2},
                   {"conditions", json::array({{{"type", "StartupPolicyCompleted"},
                                                {"status", "True"},
                                                {"reason", "R"},
                                                {"message", "m"},
                                                {"lastTransitionTime", "2026-01-01T12:00:00Z"}}})}}}});
  cluster.start(cluster.make_pod("train-driver-0", 0));
  cluster.settle();
  cluster.pass(seconds(kTimeout));
  cluster.settle();
  CHECK(cluster.get(kJobSets, "train")["status"]["terminalState"] == "Failed");
  CHECK(cluster.get(kJobSets, "train")["status"]["restarts"] == 2);
  CHECK(cluster.condition("StartupPolicyCompleted") == "True R: m");
  CHECK(contains(cluster.condition("Failed"), "True GroupSchedulingTimeout: 1 of 5 pods have started"));
  CHECK(contains(cluster.condition("Failed"), "train-workers-0-1 (not created)"));
}

TEST_CASE("group: with onTimeout Suspend and in a queue the owner is suspended instead") {
  for (const bool queued : {false, true}) {
    INFO(queued);
    GangCluster cluster = incomplete(!queued);
    if (queued) cluster.patch(kJobs, "train", {{"metadata", {{"labels", {{kQueueNameLabel, "team"}}}}}});
    cluster.settle();
    cluster.pass(seconds(kTimeout));
    const auto writes = cluster.settle();
    REQUIRE(writes.size() == 3);
    CHECK(writes.back() == "patch jobs/train");
    CHECK(cluster.get(kJobs, "train")["spec"]["suspend"] == true);
    CHECK(cluster.condition("FailureTarget").empty());
    CHECK(contains(cluster.condition(), "False GroupSchedulingTimeout: 2 of 3"));
  }
}

TEST_CASE("group: a run that was suspended at its deadline is tried again under a new epoch") {
  GangCluster cluster = incomplete(true);
  cluster.settle();
  cluster.pass(seconds(kTimeout));
  cluster.settle();
  for (const char* pod : {"train-0-x", "train-1-x", "train-2-x"}) cluster.vanish(kPods, pod);
  cluster.epoch = "epoch-2";
  cluster.pass(seconds(1000));
  cluster.patch(
      kJobs, "train",
      {{"spec", {{"suspend", false}, {"template", waiting_template("train.job-group-scheduling", "epoch-2", true)}}}});
  cluster.settle();
  CHECK(contains(cluster.condition(), "False WaitingForPods: 0 of 3"));
  cluster.start(cluster.make_pods());
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
  CHECK(contains(cluster.condition(), "True AllPodsStarted"));
}

TEST_CASE("group: a suspended run's deadline does not count against the next one") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 2, 1}});
  cluster.start(cluster.make_pods().front());
  cluster.settle();
  cluster.pass(seconds(2 * kTimeout));
  // Resumed: one Job has the new epoch already, the other is still suspended under the old one.
  cluster.patch(kJobs, "train-workers-0", {{"spec", {{"suspend", true}}}});
  cluster.patch(kJobs, "train-workers-1",
                {{"spec", {{"template", waiting_template("train-group-scheduling", "epoch-2")}}}});
  cluster.vanish(kPods, "train-workers-0-0-x");
  cluster.vanish(kPods, "train-workers-1-0-x");
  cluster.start(cluster.make_pod("train-workers-1", 0, "y"));
  cluster.settle();
  CHECK(cluster.expired().empty());
}

TEST_CASE("group: a muster that comes after the deadline starts a group that is complete by then") {
  GangCluster cluster;
  cluster.make_own_job(2);
  cluster.start(cluster.make_pods());
  cluster.pass(seconds(2 * kTimeout));
  cluster.settle();
  CHECK(cluster.started() == cluster.line());
}

TEST_CASE("group: a wall clock that is set back does not bring a second deadline") {
  GangCluster cluster = incomplete();
  const TimePoint first = cluster.now().wall;
  cluster.settle();
  cluster.jump_wall_clock(-std::chrono::hours(2));
  cluster.settle();
  CHECK(cluster.data()["deadlines"] == deadline_line(cluster, first + seconds(kTimeout)));
}

TEST_CASE("group: the run is expired before its owner ends whatever is written last") {
  // Killed after each write: the next process goes on from what is there.
  for (int killed_after = 0; killed_after < 4; ++killed_after) {
    INFO(killed_after);
    GangCluster cluster = incomplete();
    cluster.settle();
    cluster.pass(seconds(kTimeout));
    for (int i = 0; i < killed_after; ++i) {
      const Plan plan = cluster.reconcile();
      if (!plan.writes.empty()) cluster.apply(plan.writes.front());
      const bool ended = !cluster.condition("FailureTarget").empty();
      if (ended) CHECK(cluster.expired() == cluster.line());
    }
    cluster.pass(seconds(60));
    cluster.settle();
    CHECK(cluster.expired() == cluster.line());
    CHECK(contains(cluster.condition("FailureTarget"), "train-2-x"));
  }
}

TEST_CASE("group: a suspended Job at rest loses its startTime so that it may get a new epoch") {
  struct Row {
    const char* name;
    json status;
    bool cleared;
  };
  const json suspended = json::array({{{"type", "Suspended"}, {"status", "True"}}});
  const Row rows[] = {
      {"at rest", {{"startTime", "2026-01-01T12:00:00Z"}, {"conditions", suspended}}, true},
      {"pods are left", {{"startTime", "2026-01-01T12:00:00Z"}, {"active", 1}, {"conditions", suspended}}, false},
      {"the controller has not seen it", {{"startTime", "2026-01-01T12:00:00Z"}}, false},
      {"Kubernetes has cleared it", {{"conditions", suspended}}, false},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    INFO(name);
    GangCluster cluster;
    cluster.make_own_job(1);
    cluster.patch(kJobs, "train", {{"spec", {{"suspend", true}}}, {"status", row.status}});
    const auto writes = cluster.settle();
    CHECK(writes.size() == (row.cleared ? 1 : 0));
    if (row.cleared) CHECK_FALSE(cluster.get(kJobs, "train")["status"].contains("startTime"));
  }
}

namespace {

// c waits for b, which is no target; a has started.
GangCluster in_parts(const char* until) {
  GangCluster cluster;
  cluster.make_jobset({{"a", 1, 1}, {"b", 1, 1, false}, {"c", 1, 1}});
  cluster.make_depend(2, "b", until);
  cluster.vanish(kJobs, "train-c-0");
  cluster.settle();
  cluster.start(cluster.make_pod("train-a-0", 0));
  cluster.settle();
  return cluster;
}

}  // namespace

TEST_CASE("group: its time begins when all targets may start, and its condition says what it waits for") {
  GangCluster cluster = in_parts("Complete");
  cluster.pass(seconds(2 * kTimeout));
  cluster.settle();
  CHECK(cluster.expired().empty());
  CHECK(cluster.data()["deadlines"] == "");
  CHECK(cluster.condition() ==
        "False WaitingForPods: 1 of 2 pods have started as of " + cluster.stamp() +
            "; missing: Job train-c-0 (waits until b is complete, 1 pod); the time of the group has not begun: c waits "
            "until b is complete");

  cluster.count_jobs("b", "succeeded");
  cluster.settle();
  CHECK(cluster.data()["deadlines"] == deadline_line(cluster, cluster.now().wall + seconds(kTimeout)));
  SUBCASE("in time") {
    cluster.make_job({"c", 1, 1}, 0);
    cluster.start(cluster.make_pod("train-c-0", 0));
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
  SUBCASE("too late") {
    cluster.pass(seconds(kTimeout));
    cluster.settle();
    CHECK(
        cluster.condition("Failed") ==
        "True GroupSchedulingTimeout: 1 of 2 pods have started within 300 s of the first; missing: Job train-c-0 (not "
        "created, 1 pod)");
  }
}

TEST_CASE("group: a time that has begun goes on when a dependency is not ready any more") {
  GangCluster cluster = in_parts("Ready");
  cluster.count_jobs("b", "ready");
  cluster.settle();
  const json begun = cluster.data()["deadlines"];
  CHECK(begun == deadline_line(cluster, cluster.now().wall + seconds(kTimeout)));
  cluster.count_jobs("b", "active");
  cluster.pass(seconds(30));
  cluster.settle();
  CHECK(cluster.data()["deadlines"] == begun);
  cluster.pass(seconds(kTimeout));
  cluster.settle();
  CHECK(contains(cluster.condition("Failed"), "Job train-c-0 (waits until b is ready, 1 pod)"));
}

}  // namespace group_scheduling_deadline_test
