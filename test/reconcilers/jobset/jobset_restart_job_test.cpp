// Failure policy actions that restart single Jobs: RestartJob and RestartJobAndIgnoreMaxRestarts.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/workload.h"
#include "reconcilers/jobset/jobset_attempt.h"
#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_restart_job_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

json policy(int max_restarts, json rules = json::array({{{"action", "RestartJob"}}})) {
  return {{"failurePolicy", {{"maxRestarts", max_restarts}, {"rules", std::move(rules)}}}};
}

JobSetCluster running(const json& spec) {
  JobSetCluster cluster(train_jobset(spec));
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  cluster.events.clear();
  return cluster;
}

json entry(const JobSetCluster& cluster, const std::string& name) {
  const json status = cluster.status();
  for (const json& each : status["replicatedJobsStatus"]) {
    if (each["name"] == name) return each;
  }
  return {};
}

std::string attempt(const JobSetCluster& cluster, const std::string& job, std::string_view key) {
  const json labels = cluster.get(kJobs, job)["spec"]["template"]["metadata"]["labels"];
  return labels.value(std::string(key), "none");
}

}  // namespace

TEST_CASE("jobset restart of one job: the failed Job is made again and the others go on") {
  JobSetCluster cluster = running(policy(3));
  CHECK(attempt(cluster, "train-workers-1", kJobRestartAttemptKey) == "0");
  const json others = {cluster.get(kJobs, "train-driver-0"), cluster.get(kJobs, "train-workers-0")};
  cluster.fail("train-workers-1");
  CHECK(cluster.settle() == Texts{"status jobsets/train", "delete jobs/train-workers-1"});
  CHECK(entry(cluster, "workers")["jobRestarts"] == json{0, 1});
  CHECK(entry(cluster, "workers")["jobRestartsCountTowardsMax"] == json{0, 1});
  CHECK_FALSE(entry(cluster, "driver").contains("jobRestarts"));
  CHECK(cluster.counts("workers") == "active=1 ready=1");
  CHECK(cluster.status()["restarts"] == 0);
  CHECK(cluster.status()["restartsCountTowardsMax"] == 0);
  CHECK(cluster.condition("RestartingJobSet").empty());
  REQUIRE(cluster.events.size() == 1);
  CHECK(cluster.events[0].reason == "RestartJobFailurePolicyAction");
  CHECK(cluster.events[0].type == kWarningEvent);
  CHECK(cluster.events[0].note == "applying RestartJob failure policy action (first failed job: train-workers-1)");

  cluster.collect_garbage();
  CHECK(cluster.settle() == Texts{"create jobs/train-workers-1"});
  CHECK(attempt(cluster, "train-workers-1", kJobRestartAttemptKey) == "1");
  CHECK(attempt(cluster, "train-workers-1", kRestartAttemptLabel) == "0");
  CHECK(json{cluster.get(kJobs, "train-driver-0"), cluster.get(kJobs, "train-workers-0")} == others);
  cluster.run("train-workers-1");
  cluster.settle();
  cluster.complete_all();
  cluster.settle();
  CHECK(cluster.condition("Completed") == "True AllJobsCompleted");
  CHECK(entry(cluster, "workers")["jobRestarts"] == json{0, 1});
}

TEST_CASE("jobset restart of one job: all of several failed Jobs restart, one status at a time") {
  JobSetCluster cluster = running(policy(3));
  cluster.fail("train-workers-1");
  cluster.fail("train-workers-0");
  CHECK(cluster.settle() == Texts{"status jobsets/train", "delete jobs/train-workers-0", "status jobsets/train",
                                  "delete jobs/train-workers-1"});
  CHECK(entry(cluster, "workers")["jobRestarts"] == json{1, 1});
  cluster.collect_garbage();
  cluster.settle();
  CHECK(cluster.jobs().size() == 3);
}

TEST_CASE("jobset restart of one job: restarts of Jobs and of the JobSet share maxRestarts") {
  const json mixed = json::array({{{"action", "RestartJob"}, {"targetReplicatedJobs", {"workers"}}},
                                  {{"action", "RestartJobSet"}, {"targetReplicatedJobs", {"driver"}}}});
  JobSetCluster cluster = running(policy(2, mixed));
  const auto again = [&](const char* job) {
    cluster.fail(job);
    cluster.settle();
    cluster.collect_garbage();
    cluster.settle();
    cluster.run_all();
    cluster.settle();
  };
  again("train-workers-0");
  again("train-driver-0");
  CHECK(cluster.status()["restarts"] == 1);
  // The Job's own count outlives a restart of the JobSet, and its pods tell both.
  CHECK(entry(cluster, "workers")["jobRestarts"] == json{1, 0});
  CHECK(attempt(cluster, "train-workers-0", kRestartAttemptLabel) == "1");
  CHECK(attempt(cluster, "train-workers-0", kJobRestartAttemptKey) == "1");
  CHECK(cluster.condition("Failed").empty());
  cluster.fail("train-workers-1");
  cluster.settle();
  CHECK(cluster.condition("Failed") == "True ReachedMaxRestarts");
}

TEST_CASE("jobset restart of one job: without a count it restarts without end") {
  JobSetCluster cluster = running(policy(0, json::array({{{"action", "RestartJobAndIgnoreMaxRestarts"}}})));
  for (int times = 1; times <= 3; ++times) {
    cluster.fail("train-driver-0");
    cluster.settle();
    cluster.collect_garbage();
    cluster.settle();
    CHECK(entry(cluster, "driver")["jobRestarts"] == json{times});
    CHECK(entry(cluster, "driver")["jobRestartsCountTowardsMax"] == json{0});
  }
  CHECK(cluster.events.back().reason == "RestartJobAndIgnoreMaxRestartsFailurePolicyAction");
  CHECK(cluster.condition("Failed").empty());
}

TEST_CASE("jobset restart of one job: BlockingRecreate waits for the old Job alone") {
  json spec = policy(3);
  spec["failurePolicy"]["restartStrategy"] = "BlockingRecreate";
  JobSetCluster cluster = running(spec);
  cluster.fail("train-workers-1");
  cluster.settle();
  CHECK(cluster.jobs().size() == 3);
  cluster.collect_garbage();
  CHECK(cluster.settle() == Texts{"create jobs/train-workers-1"});
}

TEST_CASE("jobset restart of one job: a start in order that was complete stays so, until the JobSet restarts") {
  json spec = policy(9, json::array({{{"action", "RestartJob"}, {"onJobFailureReasons", {"BackoffLimitExceeded"}}}}));
  spec["startupPolicy"] = {{"startupPolicyOrder", "InOrder"}};
  JobSetCluster cluster(train_jobset(spec));
  const auto start_all = [&] {
    for (int i = 0; i < 2; ++i) {
      cluster.settle();
      cluster.run_all();
    }
    cluster.settle();
  };
  start_all();
  REQUIRE(cluster.jobs().size() == 3);
  const std::string completed = cluster.condition("StartupPolicyCompleted");
  REQUIRE(completed.starts_with("True"));
  for (const char* job : {"train-driver-0", "train-workers-0", "train-workers-1"}) {
    cluster.fail(job);
    cluster.settle();
    cluster.collect_garbage();
    cluster.settle();
    CHECK(cluster.jobs().size() == 3);
    CHECK(cluster.condition("StartupPolicyCompleted") == completed);
    cluster.run(job);
  }
  cluster.fail("train-workers-1", "DeadlineExceeded");
  cluster.settle();
  CHECK(cluster.condition("StartupPolicyCompleted").starts_with("False"));
  cluster.collect_garbage();
  cluster.settle();
  CHECK(cluster.jobs() == Texts{"train-driver-0"});
}

TEST_CASE("jobset restart of one job: which Jobs belong to the present attempt") {
  struct Row {
    const char* name;
    json labels;  // besides those that every Job has
    bool old;
  };
  const Row rows[] = {
      {"made before the first restart", json::object(), true},
      {"of the attempt before", {{kJobRestartAttemptKey, "1"}}, true},
      {"of the present one", {{kJobRestartAttemptKey, "2"}}, false},
      {"of a later one, whose status somebody has set back", {{kJobRestartAttemptKey, "3"}}, false},
      {"of none", {{kJobRestartAttemptKey, "two"}}, true},
      {"of an earlier attempt of the JobSet", {{kJobRestartAttemptKey, "2"}, {kRestartAttemptLabel, "0"}}, true},
  };
  json object = train_jobset();
  object["status"] = {{"restarts", 1},
                      {"replicatedJobsStatus", json::array({{{"name", "workers"}, {"jobRestarts", {0, 2}}}})}};
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    JobSetCluster cluster(object);
    json job = {{"metadata",
                 {{"name", "train-workers-1"},
                  {"labels", {{kReplicatedJobNameKey, "workers"}, {kJobIndexKey, "1"}, {kRestartAttemptLabel, "1"}}},
                  {"ownerReferences", json::array({{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                                    {"kind", "JobSet"},
                                                    {"name", "train"},
                                                    {"uid", "train-uid"},
                                                    {"controller", true}}})}}}};
    job["metadata"]["labels"].update(row.labels);
    cluster.put(kJobs, job);
    const JobSetAttempt run = jobs_of(*cluster.state.find<JobSet>(kNs, "train"), cluster.state);
    CHECK(run.older.size() == (row.old ? 1 : 0));
    CHECK(run.active.size() == (row.old ? 0 : 1));
  }
}

TEST_CASE("jobset restart of one job: Jobs say their attempt where the gate is on or a rule needs it") {
  JobSetCluster plain;
  plain.settle();
  CHECK(attempt(plain, "train-driver-0", kJobRestartAttemptKey) == "none");
  JobSetCluster gated;
  gated.settings.labels_job_restarts = true;
  gated.settle();
  CHECK(attempt(gated, "train-driver-0", kJobRestartAttemptKey) == "0");
  const json annotations = gated.get(kJobs, "train-driver-0")["metadata"]["annotations"];
  CHECK(annotations[std::string(kJobRestartAttemptKey)] == "0");
}

TEST_CASE("jobset restart of one job: counts in the status that are no counts do no harm") {
  json object = train_jobset(policy(5));
  object["status"] = {
      {"replicatedJobsStatus", json::array({{{"name", "workers"},
                                             {"jobRestarts", {"x", -4, 2147483647, 9}},
                                             {"jobRestartsCountTowardsMax", {nullptr, -1, 3}}},
                                            {{"name", "nobody"}, {"jobRestartsCountTowardsMax", {1}}}})}};
  const JobSetPtr jobset = read_jobset(object);
  CHECK(jobset->status.job_restarts_of("workers", 0) == 0);
  CHECK(jobset->status.job_restarts_of("workers", 1) == 0);
  CHECK(jobset->status.job_restarts_of("workers", 2) == 2147483647);
  CHECK(jobset->status.job_restarts_of("workers", -1) == 0);
  CHECK(jobset->status.job_restarts_of("workers", 4) == 0);
  CHECK(jobset->status.job_restarts_of("gone", 0) == 0);
  CHECK(jobset->status.restarts_towards_max() == 4);
  const json written = to_json(jobset->status);
  CHECK(written["replicatedJobsStatus"][0]["jobRestarts"] == json{0, 0, 2147483647, 9});
}

}  // namespace jobset_restart_job_test
