#include "state/gang_index.h"

#include <doctest/doctest.h>

#include <random>

#include "api/job.h"
#include "api/pod.h"
#include "test/reconcilers/gang/group_scheduling_support.h"

namespace gang_index_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;

namespace {

// What can be seen of a gang, as one text.
std::string picture(const Gang* gang) {
  if (gang == nullptr) return "nothing";
  std::string text;
  for (const auto& [token, run] : gang->runs) {
    text += token + ": known " + std::to_string(run.known) + ", filled " + std::to_string(run.filled) + ", active " +
            std::to_string(run.active) + ", suspended " + std::to_string(run.suspended) + ", expected " +
            std::to_string(run.expected) + ", started " + std::to_string(run.started) + ", passed " +
            std::to_string(run.passed) + ", refused " + std::to_string(run.refused) + ", waiting " +
            std::to_string(run.waiting.size()) + "\n";
    for (const auto& [uid, job] : run.jobs) {
      text += "  " + uid + " places " + std::to_string(job.places.size()) + " started " + std::to_string(job.started) +
              (job.job == nullptr ? " unknown" : "") + "\n";
    }
  }
  for (const auto& [attempt, jobs] : gang->attempts) {
    for (const auto& [name, indexes] : jobs)
      text += std::to_string(attempt) + " " + name + " " + std::to_string(indexes.size()) + "\n";
  }
  return text;
}

const Gang* gang_in(const ClusterState& state) {
  ObjectMeta owner;
  owner.ns = kNs;
  owner.uid = "jobset-uid";
  return state.gangs().find(owner);
}

std::string picture(const ClusterState& state) {
  return picture(gang_in(state));
}

}  // namespace

TEST_CASE("gang index: pods may come before their Jobs") {
  GangCluster cluster;
  cluster.make_jobset({{"workers", 1, 2}});
  cluster.start(cluster.make_pods());
  const std::string expected = picture(cluster.state);

  ClusterState later;
  later.put(read_object(kPods, cluster.get(kPods, "train-workers-0-0-x")));
  later.put(read_object(kPods, cluster.get(kPods, "train-workers-0-1-x")));
  CHECK(gang_in(later)->runs.at(cluster.token()).known == 0);
  later.put(read_object(kJobs, cluster.get(kJobs, "train-workers-0")));
  CHECK(picture(later) == expected);
}

TEST_CASE("gang index: what leaves leaves nothing behind") {
  GangCluster cluster = five_pods();
  const auto pods = cluster.make_pods();
  cluster.start(pods);
  for (const std::string& pod : pods) cluster.pass_barrier(pod);
  for (const std::string& job : cluster.job_names()) cluster.vanish(kJobs, job);
  for (const std::string& pod : pods) cluster.vanish(kPods, pod);
  CHECK(picture(cluster.state) == "nothing");
}

TEST_CASE("gang index: pods and Jobs outside gangs are none of its business") {
  GangIndex index;
  auto pod = std::make_shared<Pod>();
  pod->meta.name = "lonely";
  pod->meta.labels = {{std::string(kJobSetUidLabel), "uid"}, {std::string(kRestartAttemptLabel), "0"}};
  pod->meta.annotations = {{std::string(kGroupEpochAnnotation), "e"}};
  index.put(pod);
  index.remove(*pod);
  index.put(std::make_shared<const Job>());
  ObjectMeta owner;
  owner.uid = "uid";
  CHECK(index.find(owner) == nullptr);
  CHECK_FALSE(GangIndex::owner_of(*pod).has_value());
  CHECK_FALSE(GangIndex::owner_of(Job()).has_value());
  CHECK(GangIndex::token_of(Job()).empty());
}

TEST_CASE("gang index: a pod without a part of its token belongs to no run") {
  for (const std::string_view key : {kJobSetUidLabel, kRestartAttemptLabel}) {
    GangCluster cluster;
    cluster.make_jobset({{"workers", 1, 1}});
    const std::string pod = cluster.make_pod("train-workers-0", 0);
    cluster.patch(kPods, pod, {{"metadata", {{"labels", {{key, nullptr}}}}}});
    cluster.start(pod);
    CHECK(gang_in(cluster.state)->runs.at(cluster.token()).started == 0);
  }
}

TEST_CASE("gang index: what it counts does not depend on the way there") {
  std::mt19937 random(20261121);
  for (int round = 0; round < 30; ++round) {
    INFO(round);
    GangCluster cluster = five_pods();
    std::vector<std::string> pods = cluster.make_pods();
    for (int step = 0; step < 60; ++step) {
      const std::string& pod = pods[random() % pods.size()];
      const auto jobs = cluster.job_names();
      const std::string& job = jobs[random() % jobs.size()];
      switch (random() % 8) {
        case 0:
          cluster.start(pod);
          break;
        case 1:
          cluster.pass_barrier(pod);
          break;
        case 2:
          cluster.waiter(pod, {{"terminated", {{"exitCode", 1}}}});
          break;
        case 3:
          cluster.waiter(pod, {{"waiting", {{"reason", "R"}}}});
          break;
        case 4:
          cluster.patch(kPods, pod, {{"status", {{"phase", random() % 2 ? "Failed" : "Running"}}}});
          break;
        case 5:
          cluster.patch(kJobs, job, {{"spec", {{"suspend", random() % 2 == 0}, {"parallelism", random() % 3}}}});
          break;
        case 6:
          pods.push_back(
              cluster.make_pod("train-workers-0", static_cast<int>(random() % 2), "n" + std::to_string(step)));
          break;
        case 7:
          cluster.patch(kPods, pod,
                        {{"metadata", {{"annotations", {{kGroupEpochAnnotation, random() % 2 ? "epoch-1" : "e2"}}}}}});
          break;
      }
      cluster.pass(seconds(1));
    }
    ClusterState fresh;
    for (const std::string& pod : pods) fresh.put(read_object(kPods, cluster.get(kPods, pod)));
    for (const std::string& job : cluster.job_names()) fresh.put(read_object(kJobs, cluster.get(kJobs, job)));
    CHECK(picture(cluster.state) == picture(fresh));
  }
}

}  // namespace gang_index_test
