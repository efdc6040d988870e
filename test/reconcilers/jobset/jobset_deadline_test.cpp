// How long a JobSet runs, and how often it has begun to: spec.activeDeadlineSeconds and status.executionAttempts.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reconcilers/jobset/jobset.h"
#include "test/reconcilers/jobset/running_jobset.h"

namespace jobset_deadline_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace std::chrono_literals;
using namespace muster::test;

constexpr const char* kAttempt = "jobset.sigs.k8s.io/execution-attempt";

JobSetCluster gated(const char* gate, json spec = json::object()) {
  JobSetCluster cluster(train_jobset(std::move(spec)));
  cluster.settings.queues.rules.jobset_feature_gates = {{gate, true}};
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  cluster.events.clear();
  return cluster;
}

JobSetCluster with_deadline(json spec = json::object()) {
  return gated("JobSetActiveDeadlineSeconds", std::move(spec));
}

void suspend(JobSetCluster& cluster, bool suspended) {
  cluster.patch(kJobSets, "train", {{"spec", {{"suspend", suspended}}}});
  cluster.settle();
  for (const std::string& job : cluster.jobs())
    if (suspended)
      cluster.job_status(job, {{"active", 0}, {"ready", 0}, {"startTime", nullptr}});
    else
      cluster.run(job);
  cluster.settle();
}

TEST_CASE("jobset deadline: a JobSet that runs for too long fails, and its Jobs are deleted") {
  JobSetCluster cluster = with_deadline({{"activeDeadlineSeconds", 60}});
  const json start = cluster.status()["startTime"];
  const Plan waiting = cluster.reconcile();
  REQUIRE(waiting.again_at.has_value());
  CHECK(format_rfc3339(whole_seconds(*waiting.again_at - 60s)) == start);
  cluster.pass(58s);
  CHECK(cluster.settle().empty());
  cluster.pass(3s);
  const Plan plan = cluster.reconcile();
  REQUIRE(plan.writes.size() == 1);
  REQUIRE(plan.writes[0].measurements.size() == 2);
  CHECK(plan.writes[0].measurements[0].what == Measured::kJobSetFailed);
  CHECK(plan.writes[0].measurements[1].what == Measured::kJobSetTooLate);
  CHECK(plan.writes[0].measurements[1].jobset == "train");
  CHECK(cluster.settle() == Texts{"status jobsets/train", "delete jobs/train-driver-0", "delete jobs/train-workers-0",
                                  "delete jobs/train-workers-1"});
  CHECK(cluster.condition("Failed") == "True DeadlineExceeded");
  CHECK(cluster.status()["conditions"][0]["message"] ==
        "JobSet was active for longer than the specified deadline of 60 seconds");
  CHECK(cluster.status()["terminalState"] == "Failed");
  CHECK(cluster.status()["startTime"] == start);
}

TEST_CASE("jobset deadline: it counts before the failure policy, and not against what has succeeded") {
  struct Row {
    const char* name;
    bool late, fails, completes;
    const char* end;
  };
  const Row rows[] = {
      {"a failure in time restarts", false, true, false, ""},
      {"a failure after the deadline does not restart", true, true, false, "DeadlineExceeded"},
      {"a success at the deadline is one", true, false, true, "AllJobsCompleted"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    json spec = restarting(3);
    spec["activeDeadlineSeconds"] = 60;
    JobSetCluster cluster = with_deadline(spec);
    cluster.pass(row.late ? 61s : 30s);
    if (row.fails) cluster.fail("train-driver-0");
    if (row.completes) cluster.complete_all();
    cluster.settle();
    CHECK(cluster.status()["restarts"] == (row.late ? 0 : 1));
    const std::string end = cluster.condition("Failed") + cluster.condition("Completed");
    CHECK(end == (*row.end == '\0' ? "" : "True " + std::string(row.end)));
  }
}

TEST_CASE("jobset deadline: the time starts again with a resume and with a restart of all Jobs") {
  json spec = restarting(3);
  spec["activeDeadlineSeconds"] = 60;
  JobSetCluster cluster = with_deadline(spec);
  cluster.pass(50s);
  suspend(cluster, true);
  CHECK_FALSE(cluster.status().contains("startTime"));
  cluster.pass(50s);
  CHECK(cluster.settle().empty());
  suspend(cluster, false);
  CHECK(cluster.condition("Failed").empty());
  CHECK(cluster.status().contains("startTime"));
  cluster.pass(50s);
  const json before = cluster.status()["startTime"];
  cluster.fail("train-driver-0");
  cluster.settle();
  CHECK(cluster.status()["restarts"] == 1);
  CHECK(cluster.status()["startTime"] != before);
  cluster.pass(50s);
  cluster.settle();
  CHECK(cluster.condition("Failed").empty());
  cluster.pass(11s);
  cluster.settle();
  CHECK(cluster.condition("Failed") == "True DeadlineExceeded");
}

TEST_CASE("jobset deadline: it can be changed while the JobSet runs, and no number is too large") {
  JobSetCluster cluster = with_deadline({{"activeDeadlineSeconds", std::numeric_limits<int64_t>::max()}});
  cluster.pass(100s);
  CHECK(cluster.settle().empty());
  cluster.patch(kJobSets, "train", {{"spec", {{"activeDeadlineSeconds", 200}}}});
  CHECK(cluster.settle().empty());
  cluster.patch(kJobSets, "train", {{"spec", {{"activeDeadlineSeconds", 90}}}});
  cluster.settle();
  CHECK(cluster.condition("Failed") == "True DeadlineExceeded");
}

TEST_CASE("jobset deadline: without the gate there is no start time and no end") {
  JobSetCluster cluster = running({{"activeDeadlineSeconds", 60}});
  CHECK_FALSE(cluster.status().contains("startTime"));
  cluster.pass(100s);
  CHECK(cluster.settle().empty());
  // Turned off: what is older is taken away, and does not count when the gate is on again.
  JobSetCluster once = with_deadline({{"activeDeadlineSeconds", 60}});
  once.settings.queues.rules.jobset_feature_gates.clear();
  once.pass(100s);
  CHECK(once.settle() == Texts{"status jobsets/train"});
  CHECK_FALSE(once.status().contains("startTime"));
  CHECK(once.condition("Failed").empty());
}

std::string attempts_of(const JobSetCluster& cluster) {
  std::string text;
  for (const std::string& name : cluster.jobs()) {
    const json job = cluster.get(kJobs, name);
    const std::string own = job["metadata"]["annotations"].value(kAttempt, "none");
    CHECK(job["spec"]["template"]["metadata"]["annotations"].value(kAttempt, "none") == own);
    text += (text.empty() ? "" : " ") + own;
  }
  return text;
}

TEST_CASE("jobset attempts: each run has its number, on the JobSet, its Jobs and their pods") {
  JobSetCluster cluster = gated("ExecutionAttemptsTracking", restarting(3));
  CHECK(cluster.status()["executionAttempts"] == 0);
  CHECK(attempts_of(cluster) == "0 0 0");
  suspend(cluster, true);
  CHECK(cluster.status()["executionAttempts"] == 0);
  suspend(cluster, false);
  CHECK(cluster.status()["executionAttempts"] == 1);
  CHECK(attempts_of(cluster) == "1 1 1");
  CHECK(cluster.settle().empty());
  cluster.fail("train-driver-0");
  cluster.settle();
  cluster.collect_garbage();
  cluster.settle();
  CHECK(cluster.status()["restarts"] == 1);
  CHECK(cluster.status()["executionAttempts"] == 2);
  CHECK(attempts_of(cluster) == "2 2 2");
}

TEST_CASE("jobset attempts: no pod of a run has the number of another run") {
  JobSetCluster cluster = gated("ExecutionAttemptsTracking");
  suspend(cluster, true);
  cluster.patch(kJobSets, "train", {{"spec", {{"suspend", false}}}});
  const Plan plan = cluster.reconcile();
  int resumed = 0;
  for (const Write& write : plan.writes) {
    if (write.target.type != &kJobs || !write.body.contains("spec")) continue;
    CHECK(write.body["spec"]["suspend"] == false);
    CHECK(write.body["spec"]["template"]["metadata"]["annotations"][kAttempt] == "1");
    ++resumed;
  }
  CHECK(resumed == 3);
}

TEST_CASE("jobset attempts: a startup in order that is interrupted is a run") {
  JobSetCluster cluster(train_jobset({{"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}, {"suspend", true}}));
  cluster.settings.queues.rules.jobset_feature_gates = {{"ExecutionAttemptsTracking", true}};
  cluster.settle();
  CHECK_FALSE(cluster.status().contains("executionAttempts"));
  for (int run = 0; run < 3; ++run) {
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", false}}}});
    cluster.settle();
    CHECK(cluster.status()["executionAttempts"] == run);
    CHECK(cluster.get(kJobs, "train-driver-0")["metadata"]["annotations"][kAttempt] == std::to_string(run));
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
    cluster.settle();
  }
}

TEST_CASE("jobset attempts: counting begins with the restarts that are known, and nothing counts without the gate") {
  JobSetCluster cluster = running(restarting(5));
  cluster.fail("train-driver-0");
  cluster.settle();
  cluster.collect_garbage();
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  CHECK_FALSE(cluster.status().contains("executionAttempts"));
  CHECK(attempts_of(cluster) == "none none none");
  cluster.settings.queues.rules.jobset_feature_gates = {{"ExecutionAttemptsTracking", true}};
  cluster.settle();
  CHECK(cluster.status()["executionAttempts"] == 1);
  cluster.settings.queues.rules.jobset_feature_gates.clear();
  cluster.fail("train-driver-0");
  cluster.settle();
  CHECK(cluster.status()["restarts"] == 2);
  CHECK(cluster.status()["executionAttempts"] == 1);
}

TEST_CASE("jobset: one of another controller is deleted when its time to live is over, and is else left alone") {
  JobSetCluster cluster(train_jobset(
      {{"managedBy", "example.com/other"}, {"ttlSecondsAfterFinished", 60}, {"activeDeadlineSeconds", 1}}));
  cluster.settings.queues.rules.jobset_feature_gates = {{"JobSetActiveDeadlineSeconds", true}};
  cluster.pass(100s);
  CHECK(cluster.settle().empty());
  cluster.patch(
      kJobSets, "train",
      {{"status", {{"conditions", json::array({condition_at(cluster.stamp(), "Completed", "True", "Done", "")})}}}});
  const Plan waiting = cluster.reconcile();
  CHECK(waiting.writes.empty());
  REQUIRE(waiting.again_at.has_value());
  CHECK(*waiting.again_at == cluster.now().wall + 60s);
  cluster.pass(60s);
  CHECK(cluster.settle() == Texts{"delete jobsets/train"});
}

}  // namespace jobset_deadline_test
