// JobSets that start as a group, seen by the JobSet controller. What the gang reconciler
// writes is written by hand here.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/job.h"
#include "api/meta/constants.h"
#include "jobs/group_scheduling.h"
#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_gang_test {

using namespace muster;
using namespace muster::test;

namespace {

// The workers have a barrier, as the webhook makes it.
json gang(const char* on_timeout) {
  json jobset = train_jobset({{"failurePolicy", {{"maxRestarts", 3}}}});
  json& pod_template = jobset["spec"]["replicatedJobs"][1]["template"]["spec"]["template"];
  pod_template["metadata"]["annotations"] = {{kGroupEpochAnnotation, "epoch-1"},
                                             {kGroupOnTimeoutAnnotation, on_timeout}};
  pod_template["spec"]["initContainers"] = json::array({{{"name", kGroupInitContainer}}});
  pod_template["spec"]["volumes"] =
      json::array({{{"name", kGroupVolume}, {"configMap", {{"name", "train-group-scheduling"}}}}});
  return jobset;
}

json decisions(std::string_view key, const char* owner_uid = "train-uid") {
  return {{"metadata",
           {{"name", "train-group-scheduling"},
            {"ownerReferences",
             json::array({{{"kind", "JobSet"}, {"name", "train"}, {"uid", owner_uid}, {"controller", true}}})}}},
          {"data", {{key, "other/0/x\n" + jobs::group_token("train-uid", "0", "epoch-1") + "\n"}}}};
}

}  // namespace

TEST_CASE("jobset gang: failures of an expired gang are not the failure policy's") {
  struct Row {
    std::string name;
    json jobset;
    json decided;
    Texts expected;
    bool queued = false;
  };
  const Texts restart = {"status jobsets/train", "delete jobs/train-driver-0", "delete jobs/train-workers-0",
                         "delete jobs/train-workers-1"};
  const Row rows[] = {
      {"nothing was decided", gang("Fail"), {{"metadata", {{"name", "train-group-scheduling"}}}}, restart},
      {"the gang has started", gang("Fail"), decisions(jobs::kGroupStartedKey), restart},
      {"the gang has expired and the JobSet is about to be failed",
       gang("Fail"),
       decisions(jobs::kGroupExpiredKey),
       {}},
      {"the gang has expired and the JobSet is about to be suspended",
       gang("Suspend"),
       decisions(jobs::kGroupExpiredKey),
       {}},
      {"the gang has expired in a queue", gang("Fail"), decisions(jobs::kGroupExpiredKey), {}, true},
      {"a ConfigMap of another JobSet decides nothing", gang("Fail"), decisions(jobs::kGroupExpiredKey, "other"),
       restart},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    JobSetCluster cluster(row.jobset);
    cluster.settle();
    if (row.queued) {
      cluster.edit(kJobSets, "train", [](json& jobset) { jobset["metadata"]["labels"] = {{kQueueNameLabel, "main"}}; });
    }
    cluster.put(kConfigMaps, row.decided);
    cluster.fail("train-workers-1");
    CHECK(cluster.settle() == row.expected);
  }
}

TEST_CASE("jobset gang: after its end by the deadline it restarts no more") {
  JobSetCluster cluster(gang("Fail"));
  cluster.settle();
  cluster.put(kConfigMaps, decisions(jobs::kGroupExpiredKey));
  cluster.fail("train-workers-1");
  const json failed = {{"type", "Failed"}, {"status", "True"}, {"reason", "GroupSchedulingTimeout"}};
  cluster.patch(kJobSets, "train", {{"status", {{"conditions", json::array({failed})}, {"terminalState", "Failed"}}}});
  CHECK(cluster.settle() == Texts{"delete jobs/train-driver-0", "delete jobs/train-workers-0"});
  CHECK(cluster.status().value("restarts", 0) == 0);
}

TEST_CASE("jobset gang: an expired one that is suspended has its failed Jobs made anew") {
  JobSetCluster cluster(gang("Suspend"));
  cluster.settle();
  cluster.put(kConfigMaps, decisions(jobs::kGroupExpiredKey));
  cluster.fail("train-workers-1");
  CHECK(cluster.settle().empty());
  cluster.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
  const Texts done = cluster.settle();
  CHECK(std::count(done.begin(), done.end(), "delete jobs/train-workers-1") == 1);
  CHECK(std::count(done.begin(), done.end(), "delete jobs/train-workers-0") == 0);
  cluster.collect_garbage();
  cluster.settle();
  CHECK(cluster.get(kJobs, "train-workers-1")["spec"]["suspend"] == true);

  // Resumed with a new epoch, by the webhook: another run, for which nothing is decided.
  cluster.edit(kJobSets, "train", [](json& object) {
    object["spec"]["suspend"] = false;
    object["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["metadata"]["annotations"]
          [std::string(kGroupEpochAnnotation)] = "epoch-2";
  });
  // Not before the Job controller has seen the suspension: it would keep the old run's pods.
  cluster.settle();
  for (const char* name : {"train-workers-0", "train-workers-1"}) {
    CHECK(cluster.get(kJobs, name)["spec"]["suspend"] == true);
    const json at_rest = {{"type", "Suspended"}, {"status", "True"}};
    cluster.job_status(name, {{"active", 1}, {"conditions", json::array({at_rest})}});
    cluster.settle();
    CHECK(cluster.get(kJobs, name)["spec"]["suspend"] == true);
    cluster.job_status(name, {{"active", 0}});
  }
  cluster.settle();
  for (const char* name : {"train-workers-0", "train-workers-1"}) {
    const json job = cluster.get(kJobs, name);
    CHECK(job["spec"]["suspend"] == false);
    CHECK(read_job(job)->barrier->epoch == "epoch-2");
  }
  cluster.fail("train-workers-0");
  cluster.settle();
  CHECK(cluster.status()["restarts"] == 1);
}

TEST_CASE("jobset gang: a Job that failed late is made anew when the JobSet has been resumed already") {
  JobSetCluster cluster(gang("Suspend"));
  cluster.settle();
  cluster.put(kConfigMaps, decisions(jobs::kGroupExpiredKey));
  cluster.fail("train-workers-1");
  cluster.edit(kJobSets, "train", [](json& object) {
    object["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["metadata"]["annotations"]
          [std::string(kGroupEpochAnnotation)] = "epoch-2";
  });
  CHECK(cluster.settle() == Texts{"delete jobs/train-workers-1"});
  cluster.collect_garbage();
  CHECK(cluster.settle() == Texts{"create jobs/train-workers-1"});
  CHECK(read_job(cluster.get(kJobs, "train-workers-1"))->barrier->epoch == "epoch-2");
}

}  // namespace jobset_gang_test
