#include "reconcilers/jobset/jobset_status.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/workload.h"
#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_status_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace std::chrono_literals;
using namespace muster::test;

namespace {

const Texts kStatus = {"status jobsets/train"};

}  // namespace

TEST_CASE("jobset status: what an unfinished Job counts as") {
  const json as_is = json::object();
  struct Row {
    std::string name;
    json spec;
    json status;
    std::string expected;
  };
  const Row rows[] = {
      {"just made", as_is, as_is, ""},
      {"pods without being ready", as_is, {{"active", 2}}, "active=1"},
      {"some pods are ready", as_is, {{"active", 2}, {"ready", 1}}, "active=1"},
      {"all pods are ready", as_is, {{"active", 2}, {"ready", 2}}, "active=1 ready=1"},
      {"ready and succeeded pods add up", as_is, {{"active", 1}, {"ready", 1}, {"succeeded", 1}}, "active=1 ready=1"},
      {"no more pods than completions are needed",
       {{"parallelism", 5}, {"completions", 1}},
       {{"active", 1}, {"ready", 1}},
       "active=1 ready=1"},
      {"a work queue needs its parallelism",
       {{"completions", nullptr}, {"parallelism", 3}},
       {{"active", 2}, {"ready", 2}},
       "active=1"},
      {"suspended", {{"suspend", true}}, as_is, "suspended=1"},
      {"suspended while pods still go", {{"suspend", true}}, {{"active", 1}}, "active=1 suspended=1"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    JobSetCluster cluster;
    cluster.settle();
    cluster.patch(kJobs, "train-workers-1", {{"spec", row.spec}, {"status", row.status}});
    const JobSet& jobset = *cluster.state.find<JobSet>(kNs, "train");
    const auto counts = count_jobs(jobset, jobs_of(jobset, cluster.state));
    REQUIRE(counts.size() == 2);
    JobSetStatus status;
    status.replicated_jobs = counts;
    CHECK(JobSetCluster::counts_of(to_json(status)["replicatedJobsStatus"][1]) == row.expected);
  }
}

TEST_CASE("jobset status: progress without an end is written on the beat") {
  JobSetCluster cluster;
  cluster.settle();
  cluster.run("train-driver-0");
  const Plan plan = cluster.reconcile();
  CHECK(plan.writes.empty());
  REQUIRE(plan.again_at.has_value());
  // Not before it is a second old.
  CHECK(*plan.again_at >= cluster.now().wall + 1s);
  CHECK(*plan.again_at <= cluster.now().wall + 2s);

  cluster.pass(*plan.again_at - cluster.now().wall - 1ms);
  CHECK(cluster.settle().empty());
  cluster.pass(1ms);
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.counts("driver") == "active=1 ready=1");
  CHECK_FALSE(cluster.reconcile().again_at.has_value());

  cluster.pass(10500ms);
  cluster.run("train-workers-0");
  CHECK(cluster.settle().empty());
  cluster.run("train-workers-1");
  CHECK(cluster.settle() == kStatus);
}

TEST_CASE("jobset status: beats are a second apart and differ between JobSets") {
  std::vector<TimePoint> beats;
  for (const char* uid : {"uid-a", "uid-b"}) {
    json object = train_jobset();
    object["metadata"]["uid"] = uid;
    JobSetCluster cluster(object);
    cluster.settle();
    cluster.run("train-driver-0");
    const Plan first = cluster.reconcile();
    REQUIRE(first.again_at.has_value());
    beats.push_back(*first.again_at);
    cluster.pass(*first.again_at + 10500ms - cluster.now().wall);  // missed
    const Plan second = cluster.reconcile();
    REQUIRE(second.again_at.has_value());
    CHECK(*second.again_at > cluster.now().wall);
    CHECK(*second.again_at <= cluster.now().wall + 1s);
    CHECK((*second.again_at - *first.again_at) % 1s == 0s);
  }
  CHECK(beats[0] != beats[1]);
}

TEST_CASE("jobset status: that a settled one is so no more is written at once") {
  JobSetCluster cluster;
  cluster.settle();
  cluster.run_all();
  REQUIRE(cluster.settle() == kStatus);
  cluster.job_status("train-workers-1", {{"ready", 1}});
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.counts("workers") == "active=2 ready=1");
  cluster.job_status("train-workers-1", {{"ready", 2}});
  CHECK(cluster.settle() == kStatus);
}

TEST_CASE("jobset status: what others write there stays") {
  JobSetCluster cluster;
  cluster.settle();
  const json group = {{"type", "GroupStarted"},
                      {"status", "False"},
                      {"reason", "WaitingForPods"},
                      {"message", "1 of 5"},
                      {"lastTransitionTime", "2026-01-01T11:00:00Z"}};
  cluster.patch(kJobSets, "train", {{"status", {{"conditions", json::array({group})}, {"other", 7}}}});
  cluster.complete_all();
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.status()["conditions"][0] == group);
  CHECK(cluster.condition("Completed") == "True AllJobsCompleted");
  CHECK(cluster.status()["other"] == 7);
}

TEST_CASE("jobset status: one that somebody else has ended counts nothing as running") {
  JobSetCluster cluster;
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  const json failed = {{"type", "Failed"}, {"status", "True"}, {"reason", "GroupSchedulingTimeout"}};
  cluster.patch(kJobSets, "train", {{"status", {{"conditions", json::array({failed})}, {"terminalState", "Failed"}}}});
  CHECK(cluster.settle() == Texts{"delete jobs/train-driver-0", "delete jobs/train-workers-0",
                                  "delete jobs/train-workers-1", "status jobsets/train"});
  CHECK(cluster.counts("workers") == "");
  CHECK(cluster.condition("Failed") == "True GroupSchedulingTimeout");
  CHECK(cluster.events.empty());
}

TEST_CASE("jobset status: a Job that cannot be made does not keep the rest from being told") {
  JobSetCluster cluster(train_jobset({{"suspend", true}}));
  cluster.settle();
  cluster.vanish(kJobs, "train-workers-1");
  Plan plan = cluster.reconcile();
  REQUIRE(JobSetCluster::texts(plan) == Texts{"create jobs/train-workers-1"});
  REQUIRE(plan.again_at.has_value());
  // The create is refused, again and again.
  cluster.pass(*plan.again_at - cluster.now().wall);
  plan = cluster.reconcile();
  CHECK(JobSetCluster::texts(plan) == Texts{"create jobs/train-workers-1", "status jobsets/train"});
}

TEST_CASE("jobset status: a Job that cannot run is told within two seconds") {
  JobSetCluster cluster;
  cluster.pass(1h);
  cluster.settle();
  cluster.job_status("train-driver-0", {{"active", 1}, {"ready", 0}});
  for (int tries = 0; cluster.counts("driver") != "active=1"; ++tries) {
    REQUIRE(tries < 3);
    const Plan plan = cluster.reconcile();
    cluster.apply(plan);
    if (plan.again_at) cluster.pass(*plan.again_at - cluster.now().wall);
  }
  CHECK(cluster.now().wall <= TimePoint(1'767'268'800s) + 1h + 2s);
}

}  // namespace jobset_status_test
