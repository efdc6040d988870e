// What a user reads: the condition GroupStarted, and how often it is written.
#include "test/reconcilers/gang/group_scheduling_support.h"

namespace group_scheduling_condition_test {

using namespace muster;
using namespace muster::test;

namespace {

int64_t status_writes(const std::vector<std::string>& writes) {
  return std::count_if(writes.begin(), writes.end(), [](const std::string& w) {
    return w.starts_with("status ") && w.find("pods/") == std::string::npos;
  });
}

// What is missing, as the condition says it five seconds on.
std::string missing(GangCluster& cluster) {
  cluster.settle();
  cluster.pass(seconds(20));
  cluster.settle();
  const std::string condition = cluster.condition();
  const size_t at = condition.find("missing: ");
  return at == std::string::npos ? condition : condition.substr(at + 9);
}

}  // namespace

TEST_CASE("condition: a gang that starts within five seconds is never written of as waiting") {
  GangCluster cluster = five_pods();
  int64_t writes = status_writes(cluster.settle());
  for (const std::string& pod : cluster.make_pods()) {
    cluster.pass(milliseconds(900));
    cluster.start(pod);
    writes += status_writes(cluster.settle());
  }
  CHECK(writes == 1);
  CHECK(cluster.condition() == "True AllPodsStarted: all pods of the group have started");
}

TEST_CASE("condition: a gang that takes longer tells how many have started and who is missing") {
  GangCluster cluster = five_pods();
  cluster.settle();
  cluster.start({cluster.make_pod("train-driver-0", 0), cluster.make_pod("train-workers-0", 0),
                 cluster.make_pod("train-workers-0", 1)});
  const std::string late = cluster.make_pod("train-workers-1", 0);
  cluster.patch(kPods, late,
                {{"status",
                  {{"conditions", json::array({{{"type", "PodScheduled"},
                                                {"status", "False"},
                                                {"reason", "Unschedulable"},
                                                {"message", "0/3 nodes are available"}}})}}}});
  cluster.settle();
  CHECK(cluster.condition().empty());
  CHECK(cluster.reconcile().again_at == cluster.now().wall + seconds(5));
  cluster.pass(seconds(5));
  cluster.settle();
  CHECK(cluster.condition() ==
        "False WaitingForPods: 3 of 5 pods have started as of " + cluster.stamp() +
            "; missing: train-workers-1-0-x (Unschedulable: 0/3 nodes are available), train-workers-1-1 (not created)");
}

TEST_CASE("condition: it is written at most every five seconds and not at all while nothing changes") {
  GangCluster cluster;
  cluster.make_own_job(60);
  cluster.settle();
  const auto pods = cluster.make_pods();
  int64_t writes = 0;
  for (int i = 0; i < 59; ++i) {  // 59 pods in 29.5 s
    cluster.pass(milliseconds(500));
    cluster.start(pods[i]);
    writes += status_writes(cluster.settle());
  }
  CHECK(writes >= 5);
  CHECK(writes <= 6);
  cluster.pass(seconds(5));
  CHECK(status_writes(cluster.settle()) == 1);
  for (int i = 0; i < 20; ++i) {
    cluster.pass(seconds(5));
    CHECK(status_writes(cluster.settle()) == 0);
  }
  CHECK(contains(cluster.condition(), "59 of 60 pods"));
  cluster.start(pods[59]);
  cluster.settle();
  CHECK(contains(cluster.condition(), "True AllPodsStarted"));
}

TEST_CASE("condition: new reasons are told although as many pods have started as before") {
  GangCluster cluster;
  cluster.make_own_job(2);
  CHECK(missing(cluster) == "train-0 (not created), train-1 (not created)");
  CHECK(cluster.make_pod("train", 0) == "train-0-x");
  CHECK(missing(cluster) == "train-0-x (not scheduled), train-1 (not created)");
  cluster.patch(kPods, "train-0-x", {{"spec", {{"nodeName", "n1"}}}});
  CHECK(missing(cluster) == "train-0-x (starting on n1), train-1 (not created)");
  cluster.waiter("train-0-x", {{"waiting", {{"reason", "ErrImagePull"}, {"message", "no such\nimage"}}}});
  CHECK(missing(cluster) == "train-0-x (ErrImagePull: no such image), train-1 (not created)");
  cluster.waiter("train-0-x", {{"terminated", {{"exitCode", 2}}}});
  CHECK(missing(cluster) == "train-0-x (its waiter exited with 2), train-1 (not created)");
}

TEST_CASE("condition: who is missing") {
  GangCluster cluster;
  cluster.make_jobset({{"driver", 1, 1}, {"workers", 3, 4}});
  cluster.vanish(kJobs, "train-driver-0");
  cluster.make_job({"workers", 3, 4}, 1, true);
  CHECK(missing(cluster) ==
        "Job train-driver-0 (not created, 1 pod), train-workers-0-0 (not created), train-workers-0-1 (not created), "
        "train-workers-0-2 (not created), train-workers-0-3 (not created) and 8 more");

  cluster.patch(kJobs, "train-workers-0", {{"status", {{"completedIndexes", "0,2-3"}, {"succeeded", 3}}}});
  CHECK(missing(cluster) ==
        "Job train-driver-0 (not created, 1 pod), train-workers-0-1 (not created), Job train-workers-1 (suspended, 4 "
        "pods), "
        "train-workers-2-0 (not created), train-workers-2-1 (not created) and 2 more");
}

TEST_CASE("condition: a member that the API server refuses is named with its reason, also without pods") {
  const ObjectKey owner{&kJobSets, kNs, "train"};
  GangCluster cluster;
  cluster.make_jobset({{"driver", 1, 1}, {"workers", 2, 2}, {"none", 1, 0}});
  for (const char* job : {"train-workers-0", "train-workers-1", "train-none-0"}) cluster.vanish(kJobs, job);
  cluster.state.writes().note_rejection(owner, {&kJobs, kNs, "train-workers-1"}, "exceeded quota: small");
  CHECK(missing(cluster) ==
        "train-driver-0-0 (not created), Job train-workers-0 (not created, 2 pods: exceeded quota: small), Job "
        "train-workers-1 (not created, 2 pods), Job train-none-0 (not created)");

  cluster.state.writes().note_rejection(owner, {&kJobs, kNs, "train-none-0"}, "spec.completions: Required value");
  cluster.state.writes().note_rejection(owner, {&kServices, kNs, "train"}, "exceeded quota: services");
  CHECK(
      missing(cluster) ==
      "train-driver-0-0 (not created), Job train-workers-0 (not created, 2 pods), Job train-workers-1 (not created, 2 "
      "pods), Job train-none-0 (not created: spec.completions: Required value); Service train cannot be created: "
      "exceeded quota: services");
}

TEST_CASE("condition: a member whose pods have no number is what the group waits for at its deadline") {
  GangCluster cluster;
  cluster.make_jobset({{"driver", 1, 1}, {"none", 1, 0}});
  cluster.vanish(kJobs, "train-none-0");
  cluster.settle();
  cluster.start(cluster.make_pod("train-driver-0", 0));
  cluster.settle();
  cluster.pass(seconds(kTimeout));
  cluster.settle();
  CHECK(cluster.condition("Failed") ==
        "True GroupSchedulingTimeout: 1 of 1 pods have started within 300 s of the first; missing: Job train-none-0 "
        "(not created)");
}

TEST_CASE("condition: a Job whose name another one has is told apart from one that is not created") {
  GangCluster cluster = five_pods();
  cluster.vanish(kJobs, "train-workers-0");
  cluster.vanish(kJobs, "train-workers-1");
  cluster.put(kJobs, "train-workers-0", {{"metadata", {{"uid", "stranger"}}}});
  CHECK(contains(missing(cluster),
                 "Job train-workers-0 (not created, 2 pods: a Job of this name does not belong to the "
                 "JobSet), Job train-workers-1 (not created, 2 pods)"));
}

TEST_CASE("condition: a work queue's pods have no names before they exist") {
  GangCluster cluster;
  cluster.make_own_job(3);
  cluster.patch(kJobs, "train", {{"spec", {{"completions", nullptr}, {"completionMode", "NonIndexed"}}}});
  CHECK(missing(cluster) == "3 pods of Job train (not created)");
}

TEST_CASE("condition: a long reason is cut between characters") {
  GangCluster cluster;
  cluster.make_own_job(1);
  const std::string pod = cluster.make_pod("train", 0);
  std::string text;
  while (text.size() < 300) text += "\xC3\xA4";
  cluster.waiter(pod, {{"waiting", {{"reason", "R"}, {"message", text}}}});
  const std::string shown = missing(cluster);
  CHECK(shown.size() < 160);
  CHECK(shown.starts_with("train-0-x (R: \xC3\xA4"));
  CHECK(shown.ends_with("\xC3\xA4...)"));
}

TEST_CASE("condition: other conditions stay and a foreign message is no obstacle") {
  GangCluster cluster = five_pods();
  cluster.patch(kJobSets, "train",
                {{"status",
                  {{"conditions", json::array({{{"type", "Suspended"},
                                                {"status", "False"},
                                                {"reason", "ResumeJobs"},
                                                {"message", "resumed"},
                                                {"lastTransitionTime", "2026-01-01T12:00:00Z"}},
                                               {{"type", "GroupStarted"},
                                                {"status", "False"},
                                                {"reason", "WaitingForPods"},
                                                {"message", "as of yesterday as of today"},
                                                {"lastTransitionTime", "2026-01-01T12:00:00Z"}}})}}}});
  cluster.settle();
  CHECK(cluster.condition("Suspended") == "False ResumeJobs: resumed");
  CHECK(contains(cluster.condition(), "False WaitingForPods: 0 of 5 pods have started as of "));
}

TEST_CASE("condition: a clock that was set back does not stop it") {
  GangCluster cluster = five_pods();
  cluster.settle();
  cluster.pass(seconds(5));
  cluster.settle();
  cluster.jump_wall_clock(-std::chrono::hours(1));
  cluster.start(cluster.make_pod("train-driver-0", 0));
  cluster.settle();
  CHECK(contains(cluster.condition(), "1 of 5 pods have started as of " + cluster.stamp()));
}

TEST_CASE("condition: it speaks of the run that is under way") {
  GangCluster cluster = five_pods();
  cluster.start(cluster.make_pods());
  cluster.settle();
  REQUIRE(contains(cluster.condition(), "True"));
  cluster.attempt = 1;
  for (const std::string& job : cluster.job_names()) cluster.vanish(kJobs, job);
  cluster.settle();
  CHECK(contains(cluster.condition(), "False WaitingForPods: 0 of 5"));
}

}  // namespace group_scheduling_condition_test
