// The order in which a JobSet's Jobs start, and start again: InOrder, dependsOn, suspend.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_startup_test {

using namespace muster;
using namespace muster::test;

namespace {

const Texts kCreateDriver = {"create services/train", "create jobs/train-driver-0"};
const Texts kCreateWorkers = {"create jobs/train-workers-0", "create jobs/train-workers-1"};
const Texts kPatchAll = {"patch jobs/train-driver-0", "patch jobs/train-workers-0", "patch jobs/train-workers-1"};

Texts with_status(Texts texts) {
  texts.push_back("status jobsets/train");
  return texts;
}

const json kInOrder = {{"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}};

json depending(const char* status) {
  json jobset = train_jobset();
  jobset["spec"]["replicatedJobs"][1]["dependsOn"] = json::array({{{"name", "driver"}, {"status", status}}});
  return jobset;
}

void suspend(JobSetCluster& cluster, bool suspended = true) {
  cluster.patch(kJobSets, "train", {{"spec", {{"suspend", suspended}}}});
}

// As the Job controller does it: the pods go, the start time stays.
void stop_pods(JobSetCluster& cluster) {
  for (const std::string& name : cluster.jobs()) cluster.job_status(name, {{"active", 0}, {"ready", 0}});
}

}  // namespace

TEST_CASE("jobset startup: InOrder starts one replicated job after the other") {
  JobSetCluster cluster(train_jobset(kInOrder));
  CHECK(cluster.settle() == with_status(kCreateDriver));
  CHECK(cluster.condition("StartupPolicyInProgress") == "True InOrderStartupPolicyInProgress");
  CHECK(cluster.condition("StartupPolicyCompleted") == "");

  cluster.run("train-driver-0");
  CHECK(cluster.settle() == kCreateWorkers);
  cluster.run_all();
  CHECK(cluster.settle() == Texts{"status jobsets/train"});
  CHECK(cluster.condition("StartupPolicyCompleted") == "True InOrderStartupPolicyCompleted");
  CHECK(cluster.condition("StartupPolicyInProgress") == "False InOrderStartupPolicyInProgress");
  CHECK(cluster.counts("workers") == "active=2 ready=2");
  CHECK(cluster.status_writes() == 2);
  CHECK(cluster.event_reasons() == Texts{"InOrderStartupPolicyInProgress", "InOrderStartupPolicyCompleted"});
}

TEST_CASE("jobset startup: a completed InOrder start is not undone by a pod that fails later") {
  JobSetCluster cluster(train_jobset(kInOrder));
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  REQUIRE(cluster.condition("StartupPolicyCompleted") == "True InOrderStartupPolicyCompleted");
  cluster.job_status("train-driver-0", {{"ready", 0}});
  CHECK(cluster.settle() == Texts{"status jobsets/train"});
  CHECK(cluster.counts("driver") == "active=1");
  CHECK(cluster.condition("StartupPolicyCompleted") == "True InOrderStartupPolicyCompleted");
}

TEST_CASE("jobset startup: InOrder holds after a restart too") {
  json spec = kInOrder;
  spec["failurePolicy"] = {{"maxRestarts", 1}};
  JobSetCluster cluster(train_jobset(spec));
  for (int i = 0; i < 2; ++i) {
    cluster.settle();
    cluster.run_all();
  }
  cluster.settle();
  cluster.fail("train-workers-0");
  cluster.settle();
  CHECK(cluster.status()["restarts"] == 1);
  cluster.collect_garbage();
  CHECK(cluster.settle() == Texts{"create jobs/train-driver-0"});
  CHECK(cluster.condition("StartupPolicyCompleted") == "False InOrderStartupPolicyCompleted");
  CHECK(cluster.condition("StartupPolicyInProgress") == "True InOrderStartupPolicyInProgress");
  cluster.run("train-driver-0");
  CHECK(cluster.settle() == kCreateWorkers);
}

TEST_CASE("jobset startup: dependsOn waits until the others are ready or complete") {
  struct Row {
    std::string name;
    const char* status;
    bool complete;
    bool released;
  };
  const Row rows[] = {
      {"Ready is reached by running", "Ready", false, true},
      {"Ready is reached by completing", "Ready", true, true},
      {"Complete is not reached by running", "Complete", false, false},
      {"Complete is reached by completing", "Complete", true, true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    JobSetCluster cluster(depending(row.status));
    CHECK(cluster.settle() == kCreateDriver);
    cluster.job_status("train-driver-0", {{"active", 1}});
    CHECK(cluster.settle().empty());
    row.complete ? cluster.complete("train-driver-0") : cluster.run("train-driver-0");
    CHECK(cluster.settle() == (row.released ? kCreateWorkers : Texts{"status jobsets/train"}));
    cluster.run("train-driver-0");
    cluster.settle();
  }
}

TEST_CASE("jobset startup: a suspended one has suspended Jobs and says so once") {
  JobSetCluster cluster(train_jobset({{"suspend", true}, {"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}}));
  Texts expected = kCreateDriver;
  expected.insert(expected.end(), kCreateWorkers.begin(), kCreateWorkers.end());
  CHECK(cluster.settle() == with_status(expected));
  for (const std::string& name : cluster.jobs()) CHECK(cluster.get(kJobs, name)["spec"]["suspend"] == true);
  CHECK(cluster.condition("Suspended") == "True SuspendedJobs");
  CHECK(cluster.counts("workers") == "suspended=2");
  CHECK(cluster.event_reasons() == Texts{"SuspendedJobs"});
}

TEST_CASE("jobset startup: dependents are not made while it is suspended") {
  json jobset = depending("Ready");
  jobset["spec"]["suspend"] = true;
  JobSetCluster cluster(jobset);
  CHECK(cluster.settle() == with_status(kCreateDriver));
  suspend(cluster, false);
  CHECK(cluster.settle() == with_status({"patch jobs/train-driver-0"}));
  cluster.run("train-driver-0");
  CHECK(cluster.settle() == kCreateWorkers);
  CHECK(cluster.get(kJobs, "train-workers-0")["spec"]["suspend"] == false);
}

TEST_CASE("jobset startup: suspend stops what is unfinished and resume starts it again") {
  JobSetCluster cluster;
  cluster.settle();
  cluster.run_all();
  cluster.complete("train-workers-0");
  cluster.settle();
  cluster.events.clear();

  suspend(cluster);
  CHECK(cluster.settle() == with_status({"patch jobs/train-driver-0", "patch jobs/train-workers-1"}));
  CHECK(cluster.get(kJobs, "train-workers-0")["spec"]["suspend"] == false);
  CHECK(cluster.condition("Suspended") == "True SuspendedJobs");
  stop_pods(cluster);
  cluster.settle();
  CHECK(cluster.counts("driver") == "suspended=1");
  CHECK(cluster.counts("workers") == "succeeded=1 suspended=1");

  suspend(cluster, false);
  CHECK(cluster.settle() == with_status({"status jobs/train-driver-0", "status jobs/train-workers-1",
                                         "patch jobs/train-driver-0", "patch jobs/train-workers-1"}));
  CHECK(cluster.condition("Suspended") == "False ResumeJobs");
  CHECK(cluster.get(kJobs, "train-driver-0")["spec"]["suspend"] == false);
  CHECK(cluster.event_reasons() == Texts{"SuspendedJobs", "ResumeJobs"});
}

TEST_CASE("jobset startup: InOrder resumes one replicated job after the other") {
  JobSetCluster cluster(train_jobset({{"suspend", true}, {"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}}));
  cluster.settle();
  suspend(cluster, false);
  CHECK(cluster.settle() == with_status({"patch jobs/train-driver-0"}));
  CHECK(cluster.condition("StartupPolicyInProgress") == "True InOrderStartupPolicyInProgress");
  // As upstream has it: resumed is what has resumed as a whole.
  CHECK(cluster.condition("Suspended") == "True SuspendedJobs");
  cluster.run("train-driver-0");
  CHECK(cluster.settle() == Texts{"patch jobs/train-workers-0", "patch jobs/train-workers-1"});
  cluster.run_all();
  CHECK(cluster.settle() == Texts{"status jobsets/train"});
  CHECK(cluster.condition("Suspended") == "False ResumeJobs");
  CHECK(cluster.condition("StartupPolicyCompleted") == "True InOrderStartupPolicyCompleted");
}

TEST_CASE("jobset startup: resumed Jobs get what was added to the template and keep their own") {
  JobSetCluster cluster(train_jobset({{"suspend", true}}));
  cluster.settle();
  const json own = {{"key", "own"}}, added = {{"key", "added"}}, both = {{"key", "both"}};
  for (const std::string& name : cluster.jobs()) {
    cluster.patch(kJobs, name,
                  {{"spec",
                    {{"template",
                      {{"metadata", {{"labels", {{"own", "1"}, {"changed", "1"}}}}},
                       {"spec", {{"tolerations", {own, both}}, {"nodeSelector", {{"own", "1"}}}}}}}}}});
  }
  cluster.edit(kJobSets, "train", [&](json& jobset) {
    jobset["spec"]["suspend"] = false;
    for (json& replicated : jobset["spec"]["replicatedJobs"]) {
      replicated["template"]["spec"]["template"].merge_patch(
          {{"metadata", {{"labels", {{"changed", "2"}}}, {"annotations", {{"epoch", "next"}}}}},
           {"spec",
            {{"tolerations", {both, added}},
             {"nodeSelector", {{"flavor", "spot"}}},
             {"schedulingGates", json::array({{{"name", "gate"}}})}}}});
    }
  });
  CHECK(cluster.settle() == with_status(kPatchAll));
  const json resumed = cluster.get(kJobs, "train-workers-1")["spec"]["template"];
  CHECK(resumed["metadata"]["labels"]["own"] == "1");
  CHECK(resumed["metadata"]["labels"]["changed"] == "2");
  CHECK(resumed["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] == "1");
  CHECK(resumed["metadata"]["annotations"]["epoch"] == "next");
  CHECK(resumed["spec"]["tolerations"] == json({own, both, added}));
  CHECK(resumed["spec"]["nodeSelector"] == json{{"own", "1"}, {"flavor", "spot"}});
  CHECK(resumed["spec"]["schedulingGates"] == json::array({{{"name", "gate"}}}));
  CHECK(resumed["spec"]["containers"][0]["image"] == "app");
}

TEST_CASE("jobset startup: Jobs that are being deleted are neither suspended nor resumed") {
  for (const bool suspended : {true, false}) {
    JobSetCluster cluster(train_jobset({{"suspend", !suspended}}));
    cluster.settle();
    cluster.patch(kJobs, "train-driver-0", {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}});
    suspend(cluster, suspended);
    const Texts texts = cluster.settle();
    CHECK(std::count(texts.begin(), texts.end(), "patch jobs/train-driver-0") == 0);
    CHECK(std::count(texts.begin(), texts.end(), "patch jobs/train-workers-0") == 1);
  }
}

}  // namespace jobset_startup_test
