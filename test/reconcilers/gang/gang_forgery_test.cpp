// What users can write must not open a gang's barrier, shorten its deadline, or cost time.
#include <chrono>
#include <limits>

#include "reconcilers/gang/group_scheduling_progress.h"
#include "test/reconcilers/gang/group_scheduling_support.h"

namespace gang_forgery_test {

using namespace muster;
using namespace muster::test;

namespace {

// A copy of an object as another user would make it.
void forge(GangCluster& cluster, const ResourceType& type, json object, const std::string& name,
           const std::string& ns = kNs) {
  object["metadata"]["name"] = name;
  object["metadata"]["namespace"] = ns;
  object["metadata"]["uid"] = "forged-" + name;
  cluster.put(type, object);
}

json with_waiter(json pod, const json& state) {
  pod["status"]["initContainerStatuses"] = json::array({{{"name", kGroupInitContainer}, {"state", state}}});
  return pod;
}

const json kPassed = {{"terminated", {{"exitCode", 0}, {"startedAt", "2026-01-01T00:00:00Z"}}}};
const json kRefused = {{"terminated", {{"exitCode", 1}, {"startedAt", "2026-01-01T00:00:00Z"}}}};

// "workers" of two Jobs with two pods each; all but one pod wait.
GangCluster one_is_missing() {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 2, 2}});
  cluster.start(cluster.make_pod("train-workers-0", 0));
  cluster.start(cluster.make_pod("train-workers-0", 1));
  cluster.start(cluster.make_pod("train-workers-1", 0));
  cluster.settle();
  REQUIRE(cluster.started().empty());
  return cluster;
}

}  // namespace

TEST_CASE("gang index: a pod of another namespace, or without its Job, is no proof") {
  struct Row {
    const char* name;
    const char* ns;
    json controller;  // of the forged pod
  };
  GangCluster pattern = one_is_missing();
  const json real = pattern.get(kPods, "train-workers-1-0-x");
  const json job_1 = real["metadata"]["ownerReferences"];
  json unknown_job = job_1;
  unknown_job[0]["uid"] = "no-such-job";
  const json jobset = controlled_by(kJobSets, "train", "jobset-uid");
  const Row rows[] = {{"another namespace", "evil", job_1},
                      {"another namespace, no owner", "evil", json::array()},
                      {"no owner", kNs, json::array()},
                      {"owned by the JobSet itself", kNs, jobset},
                      {"owned by a Job that is not there", kNs, unknown_job}};
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    for (const json& waiter : {kPassed, kRefused}) {
      GangCluster cluster = one_is_missing();
      const json deadlines = cluster.data();
      json pod = with_waiter(real, waiter);
      pod["metadata"]["ownerReferences"] = row.controller;
      pod["metadata"]["annotations"][std::string(kCompletionIndexAnnotation)] = "1";
      forge(cluster, kPods, pod, "fake", row.ns);
      cluster.settle();
      CHECK(cluster.started().empty());
      CHECK(cluster.expired().empty());
      CHECK(cluster.data() == deadlines);
      // Also where the ConfigMap was deleted, and pods are all that is left to tell.
      cluster.vanish(kConfigMaps, cluster.config_map_name());
      cluster.settle();
      CHECK(cluster.started().empty());
      CHECK(cluster.expired().empty());
    }
  }
}

TEST_CASE("group: a forged pod that has waited since long ago does not shorten the deadline") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 1, 2}});
  cluster.make_pod("train-workers-0", 0);
  json pod = with_waiter(cluster.get(kPods, "train-workers-0-0-x"),
                         {{"running", {{"startedAt", cluster.stamp(-std::chrono::hours(1))}}}});
  pod["metadata"]["creationTimestamp"] = cluster.stamp(-std::chrono::hours(1));
  forge(cluster, kPods, pod, "fake", "evil");
  cluster.settle();
  CHECK(cluster.data().value("deadlines", "").empty());
  CHECK(cluster.expired().empty());
  cluster.start("train-workers-0-0-x");
  cluster.settle();
  CHECK(cluster.data().value("deadlines", "") == cluster.token() + " " + cluster.stamp(seconds(kTimeout)) + "\n");
}

TEST_CASE("gang index: a Job of another namespace or with another name is none of the gang's") {
  struct Place {
    const char* name;
    const char* ns;
  };
  for (const Place& place : {Place{"train-workers-1", "evil"}, Place{"stranger", kNs}, Place{"train-workers-01", kNs},
                             Place{"train-workers-", kNs}}) {
    const char* const name = place.name;
    const char* const ns = place.ns;
    INFO(std::string(name));
    GangCluster cluster;
    cluster.make_jobset({{"workers", 2, 1}});
    json job = cluster.get(kJobs, "train-workers-1");
    cluster.vanish(kJobs, "train-workers-1");
    cluster.start(cluster.make_pod("train-workers-0", 0));
    job["spec"]["parallelism"] = 0;
    forge(cluster, kJobs, job, name, ns);
    job["metadata"]["labels"][std::string(kRestartAttemptLabel)] = "7";
    forge(cluster, kJobs, job, std::string(name) + "x", ns);
    cluster.settle();
    CHECK(cluster.started().empty());
    cluster.make_job({"workers", 2, 1}, 1);
    cluster.start(cluster.make_pod("train-workers-1", 0));
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
}

TEST_CASE("group: a suspended owner's run is over so that its old epoch opens nothing") {
  GangCluster cluster = five_pods();
  auto pods = cluster.make_pods();
  cluster.start(pods);
  cluster.settle();
  for (const std::string& pod : pods) cluster.pass_barrier(pod);
  REQUIRE(cluster.started() == cluster.line());
  cluster.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
  cluster.settle();
  CHECK(cluster.started().empty());

  SUBCASE("the resume goes on with the old epoch after the pods have gone") {
    for (const std::string& pod : pods) cluster.vanish(kPods, pod);
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", false}}}});
    cluster.settle();
    pods = cluster.make_pods();
    const std::string last = pods.back();
    pods.pop_back();
    cluster.start(pods);
    cluster.settle();
    CHECK(cluster.started().empty());
    cluster.start(last);
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
  SUBCASE("a pod that has ended or is on its way out proves nothing") {
    for (const std::string& pod : pods)
      cluster.patch(kPods, pod, {{"status", {{"phase", pod == pods.front() ? "Succeeded" : "Failed"}}}});
    cluster.patch(kPods, pods.back(),
                  {{"metadata", {{"deletionTimestamp", cluster.stamp()}}}, {"status", {{"phase", "Running"}}}});
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", false}}}});
    cluster.settle();
    CHECK(cluster.started().empty());
  }
  SUBCASE("who ran on in spite of it bears witness") {
    cluster.patch(kJobSets, "train", {{"spec", {{"suspend", false}}}});
    cluster.settle();
    CHECK(cluster.started() == cluster.line());
  }
}

TEST_CASE("group: the condition does not say for ever that a group waits whose owner has ended") {
  GangCluster cluster = one_is_missing();
  cluster.pass(seconds(20));
  cluster.settle();
  REQUIRE(cluster.condition().starts_with("False WaitingForPods"));
  json conditions = cluster.get(kJobSets, "train")["status"]["conditions"];
  conditions.push_back({{"type", "Failed"}, {"status", "True"}, {"reason", "FailedJobs"}});
  cluster.patch(kJobSets, "train", {{"status", {{"conditions", conditions}, {"terminalState", "Failed"}}}});
  SUBCASE("before its group had started") {
    cluster.settle();
    CHECK(cluster.condition().starts_with("False EndedBeforeStart: the JobSet ended before"));
  }
  SUBCASE("after it had") {
    cluster.patch(kConfigMaps, cluster.config_map_name(), {{"data", {{"started", cluster.line()}}}});
    cluster.settle();
    CHECK(cluster.condition().starts_with("True AllPodsStarted"));
  }
}

TEST_CASE("group: what is missing is counted by arithmetic however much is asked for") {
  const auto began = std::chrono::steady_clock::now();
  const int32_t most = std::numeric_limits<int32_t>::max();
  GangCluster cluster;
  SUBCASE("two billion replicas of which two are there") {
    cluster.make_jobset({{"workers", 2, 1}, {"more", 0, most}});
    cluster.start(cluster.make_pod("train-workers-0", 0));
    json spec = cluster.get(kJobSets, "train")["spec"];
    for (json& replicated : spec["replicatedJobs"]) replicated["replicas"] = most;
    cluster.patch(kJobSets, "train", {{"spec", spec}});
    cluster.settle();
    cluster.pass(seconds(20));
    cluster.settle();
    const std::string said = cluster.condition();
    CAPTURE(said);
    CHECK(said.find("1 of 4611686016279904256 pods") != std::string::npos);
    CHECK(said.find("1 pod of Job") == std::string::npos);
    CHECK(said.find("train-workers-1-0 (not created), Job train-workers-2 (not created, 1 pod)") != std::string::npos);
    CHECK(said.ends_with(" more"));
  }
  SUBCASE("two billion indexes of which one lacks") {
    cluster.make_own_job(2);
    cluster.patch(kJobs, "train",
                  {{"spec", {{"parallelism", most}, {"completions", most}}},
                   {"status", {{"succeeded", most - 1}, {"completedIndexes", "0-1000000000,1000000002-2147483646"}}}});
    cluster.settle();
    cluster.pass(seconds(20));
    cluster.settle();
    const std::string said = cluster.condition();
    CAPTURE(said);
    CHECK(said.find("0 of 1 pods") != std::string::npos);
    CHECK(said.find("missing: train-1000000001 (not created)") != std::string::npos);
  }
  SUBCASE("indexes as nobody writes them") {
    cluster.make_own_job(3);
    cluster.patch(kJobs, "train", {{"status", {{"completedIndexes", "7-5,-,1-1,0-0,x,,99999999999"}}}});
    cluster.settle();
    cluster.pass(seconds(20));
    cluster.settle();
    CHECK(cluster.condition().find("train-2 (not created)") != std::string::npos);
  }
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
}

}  // namespace gang_forgery_test
