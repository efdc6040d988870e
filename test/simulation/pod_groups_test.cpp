// Pods in queues, alone and in groups, before the whole engine: in every order of creation, failure and replacement,
// with muster killed at any write, no more of them run than the quota has place for, and none is forgotten.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "api/codec/json.h"
#include "kinds/serving_types.h"
#include "test/simulation/queues.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace pod_groups_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

WorldOptions with_pods(uint64_t seed) {
  WorldOptions options{.seed = seed};
  options.queues.rules.frameworks.insert("pod");
  return options;
}

json pod_named(const std::string& name, int run_seconds = 20, int exit_code = 0) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", name},
            {"namespace", "default"},
            {"labels", {{kQueueNameLabel, "team"}}},
            {"annotations", {{kRunSeconds, std::to_string(run_seconds)}, {kExitCode, std::to_string(exit_code)}}}}},
          {"spec",
           {{"restartPolicy", "Never"},
            {"containers", json::array({{{"name", "main"},
                                         {"image", "registry.example/train"},
                                         {"resources", {{"requests", {{"cpu", "1"}}}}}}})}}}};
}

json in_group(json pod, const std::string& group, int count) {
  pod["metadata"]["annotations"][std::string(kPodGroupName)] = group;
  pod["metadata"]["annotations"][std::string(kPodGroupTotalCount)] = std::to_string(count);
  return pod;
}

ObjectKey pod_key(const std::string& name) {
  return {&kPods, "default", name};
}

// Pods that hold a node or can get one.
int running(const World& world) {
  int count = 0;
  for (const json& pod : world.list(kPods)) {
    const std::string_view phase = string_at(pod, {"status", "phase"});
    const json& gates = array_at(pod, {"spec", "schedulingGates"});
    if (phase != "Succeeded" && phase != "Failed" && gates.empty()) ++count;
  }
  return count;
}

class Cluster {
 public:
  Cluster(uint64_t seed, int cpus) : world(with_pods(seed)), cpus_(cpus) {
    for (const json& object : queues(cpus)) REQUIRE(world.create(object).done());
  }

  // While no replica serves the webhooks nothing passes, and users try again.
  void create(const json& pod) {
    REQUIRE(run_until([&] { return world.create(pod).done(); }, 5min));
  }
  bool run_until(const std::function<bool()>& condition, Duration limit) {
    return world.run_until(
        [&] {
          most = std::max(most, running(world));
          return condition();
        },
        limit);
  }
  bool finished(const std::string& workload) const {
    return world.condition_true({&kWorkloads, "default", workload}, "Finished");
  }
  json group(const std::string& name) const { return world.get({&kWorkloads, "default", name}); }
  bool within_quota() const { return most <= cpus_; }

  World world;
  int most = 0;

 private:
  const int cpus_;
};

// For a failing test.
std::string state_of(const World& world) {
  std::string text;
  for (const json& workload : world.list(kWorkloads)) {
    text += string_at(workload, {"metadata", "name"});
    for (const json& condition : array_at(workload, {"status", "conditions"}))
      text += " " + condition["type"].get<std::string>() + "=" + condition["status"].get<std::string>() + "(" +
              condition.value("message", "") + ")";
    text += "\n";
  }
  for (const json& pod : world.list(kPods)) {
    text += std::string(string_at(pod, {"metadata", "name"})) + " " + std::string(string_at(pod, {"status", "phase"})) +
            (array_at(pod, {"spec", "schedulingGates"}).empty() ? "" : " gated") + "\n";
  }
  return text;
}

std::string phase_of(const World& world, const std::string& pod) {
  return std::string(string_at(world.get(pod_key(pod)), {"status", "phase"}));
}

}  // namespace

TEST_CASE("a pod by itself waits behind its gate, runs with the flavor's place and ends its Workload") {
  Cluster cluster(1, 1);
  cluster.create(pod_named("first"));
  cluster.create(pod_named("second"));
  // Both were created in the same second, so either can be first.
  const auto succeeded = [&](const char* pod) { return phase_of(cluster.world, pod) == "Succeeded"; };
  CHECK(cluster.run_until([&] { return succeeded("first") && succeeded("second"); }, 5min));
  CHECK(cluster.within_quota());
  CHECK(cluster.world.settle());
  const auto workloads = cluster.world.list(kWorkloads), pods = cluster.world.list(kPods);
  CHECK(workloads.size() == 2);
  for (const json& workload : workloads) {
    CHECK(cluster.finished(workload["metadata"]["name"]));
    CHECK_FALSE(workload["metadata"].contains("finalizers"));
  }
  CHECK(pods.size() == 2);
  for (const json& pod : pods) CHECK_FALSE(pod["metadata"].contains("finalizers"));
}

TEST_CASE("a group of pods starts together or not at all") {
  Cluster cluster(2, 3);
  cluster.create(pod_named("alone", 60));
  cluster.world.run_for(10s);
  for (const char* name : {"a", "b", "c"}) {
    CHECK(cluster.world.list(kWorkloads).size() == 1);
    cluster.create(in_group(pod_named(name), "three", 3));
    cluster.world.run_for(5s);
  }
  CHECK(cluster.world.list(kWorkloads).size() == 2);
  // Two of three would fit.
  CHECK(running(cluster.world) == 1);
  CHECK(cluster.run_until([&] { return cluster.finished("three"); }, 10min));
  CHECK(cluster.within_quota());
  CHECK(cluster.most == 3);
  CHECK(cluster.world.settle());
}

TEST_CASE("a group of pods and a pod by itself wait for a gate until it is removed from them") {
  const std::string gates = "kueue.x-k8s.io/admission-gated-by";
  Cluster cluster(3, 3);
  const auto gated = [&](json pod) {
    pod["metadata"]["annotations"][gates] = "example.com/review";
    return pod;
  };
  const std::vector<std::string> names = {"a", "b", "single"};
  cluster.create(gated(in_group(pod_named("a"), "pair", 2)));
  cluster.create(gated(in_group(pod_named("b"), "pair", 2)));
  cluster.create(gated(pod_named("single")));
  cluster.world.run_for(30s);
  CHECK(running(cluster.world) == 0);
  REQUIRE(cluster.world.list(kWorkloads).size() == 2);
  for (const std::string& name : names)
    cluster.world.patch(pod_key(name), {{"metadata", {{"annotations", {{gates, nullptr}}}}}});
  CHECK(cluster.run_until(
      [&] { return phase_of(cluster.world, "a") == "Succeeded" && phase_of(cluster.world, "single") == "Succeeded"; },
      5min));
  for (const json& workload : cluster.world.list(kWorkloads)) {
    CHECK_FALSE(workload["metadata"].value("annotations", json::object()).contains(gates));
  }
}

TEST_CASE("a pod that has succeeded counts for its group when it is gone") {
  Cluster cluster(3, 2);
  cluster.create(in_group(pod_named("quick", 5), "two", 2));
  cluster.create(in_group(pod_named("slow", 120), "two", 2));
  const auto recorded = [&] {
    return !string_at(cluster.group("two"), {"metadata", "annotations", kSucceededPodsAnnotation}).empty();
  };
  REQUIRE(cluster.run_until(recorded, 2min));
  CHECK(cluster.world.remove(pod_key("quick")).done());
  CHECK(cluster.run_until([&] { return cluster.finished("two"); }, 10min));
  CHECK(string_at(cluster.group("two")["status"]["conditions"].back(), {"message"}) == "Pods succeeded: 2/2.");
  CHECK(cluster.world.settle());
}

TEST_CASE("a failed pod of a group is replaced, and only by one") {
  Cluster cluster(4, 2);
  cluster.create(in_group(pod_named("bad", 5, 1), "two", 2));
  cluster.create(in_group(pod_named("good", 200), "two", 2));
  REQUIRE(cluster.run_until([&] { return phase_of(cluster.world, "bad") == "Failed"; }, 2min));
  cluster.world.run_for(10s);
  CHECK(cluster.world.condition_true({&kWorkloads, "default", "two"}, "WaitingForReplacementPods"));
  cluster.create(in_group(pod_named("new-1", 20), "two", 2));
  cluster.create(in_group(pod_named("new-2", 20), "two", 2));
  CHECK(cluster.run_until([&] { return cluster.finished("two"); }, 10min));
  CHECK(cluster.within_quota());
  CHECK(cluster.world.has_event("ExcessPodDeleted"));
  CHECK(cluster.world.settle());
}

TEST_CASE("an evicted group is deleted, and its quota is free when its pods have gone") {
  Cluster cluster(5, 2);
  for (const char* name : {"a", "b"}) cluster.create(in_group(pod_named(name, 600), "two", 2));
  REQUIRE(cluster.run_until([&] { return running(cluster.world) == 2; }, 2min));
  cluster.create(pod_named("next", 20));
  cluster.world.run_for(10s);
  CHECK(cluster.world.patch({&kWorkloads, "default", "two"}, {{"spec", {{"active", false}}}}).done());
  CHECK(cluster.run_until([&] { return phase_of(cluster.world, "next") == "Succeeded"; }, 10min));
  CHECK(cluster.within_quota());
  CHECK(cluster.world.get(pod_key("a")).is_null());
  CHECK(cluster.world.settle());
}

TEST_CASE("a tenant cannot run more than the quota by what pods say of themselves") {
  Cluster cluster(6, 2);
  // A pod that says it is of a smaller role than it is.
  json small = in_group(pod_named("small", 600), "two", 2), large = in_group(pod_named("large", 600), "two", 2);
  for (json* pod : {&small, &large}) (*pod)["metadata"]["annotations"][std::string(kRoleHashAnnotation)] = "small";
  large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100";
  cluster.create(large);
  cluster.create(small);
  cluster.world.run_for(1min);
  CHECK(array_at(cluster.world.get(pod_key("large")), {"spec", "schedulingGates"}).size() > 0);

  // A gate that its owner takes away.
  cluster.create(pod_named("waits", 600));
  cluster.create(pod_named("waits-too", 600));
  cluster.create(pod_named("third", 600));
  cluster.world.run_for(10s);
  for (const char* name : {"waits", "waits-too", "third", "large"}) {
    if (array_at(cluster.world.get(pod_key(name)), {"spec", "schedulingGates"}).empty()) continue;
    CHECK_FALSE(cluster.world.patch(pod_key(name), {{"spec", {{"schedulingGates", nullptr}}}}).done());
  }
  // A pod that says it has succeeded in the Workload's record.
  const json lie = {{"small", {"000000000000", "111111111111"}}};
  cluster.world.patch({&kWorkloads, "default", "two"},
                      {{"metadata", {{"annotations", {{kSucceededPodsAnnotation, lie.dump()}}}}}});
  cluster.world.run_for(5min);
  CHECK(cluster.within_quota());
}

TEST_CASE("pod groups: muster killed at each write in turn forgets no success and gives no quota away") {
  // Each write of the scenario below is the last one once; later ones do not happen any more.
  int kills = 0;
  for (int write = 1; write <= 30; ++write) {
    INFO("killed after write ", write);
    Cluster cluster(100, 3);
    cluster.world.kill_after_write(write, 2s);
    cluster.create(in_group(pod_named("quick", 5), "three", 3));
    cluster.create(in_group(pod_named("slow", 60), "three", 3));
    cluster.create(in_group(pod_named("bad", 10, 1), "three", 3));
    cluster.create(pod_named("next", 5));
    const auto recorded = [&] {
      return !string_at(cluster.group("three"), {"metadata", "annotations", kSucceededPodsAnnotation}).empty();
    };
    REQUIRE(cluster.run_until(recorded, 5min));
    CHECK(cluster.world.remove(pod_key("quick")).done());
    REQUIRE(cluster.run_until([&] { return phase_of(cluster.world, "bad") == "Failed"; }, 5min));
    cluster.create(in_group(pod_named("new", 5), "three", 3));
    CHECK(cluster.run_until([&] { return cluster.finished("three"); }, 10min));
    CHECK(cluster.run_until([&] { return phase_of(cluster.world, "next") == "Succeeded"; }, 10min));
    CHECK(cluster.within_quota());
    INFO(state_of(cluster.world));
    CHECK(cluster.world.settle());
    kills += static_cast<int>(cluster.world.process(0).starts()) - 1;
  }
  CHECK(kills >= 20);
}

TEST_CASE("pod groups: in any order of creation, failure and replacement, with muster killed at any write, all end") {
  const int runs = static_cast<int>(soak_seeds(20, 600));
  uint64_t crashes = 0;
  for (int seed = 1; seed <= runs; ++seed) {
    INFO("seed ", seed);
    std::mt19937_64 chance(static_cast<uint64_t>(seed));
    const auto pick = [&](int count) { return static_cast<int>(chance() % static_cast<uint64_t>(count)); };
    Cluster cluster(static_cast<uint64_t>(seed), 4);
    std::vector<json> pods;
    for (int group = 0; group < 3; ++group) {
      const int count = 1 + pick(3);
      const std::string name = "group-" + std::to_string(group);
      for (int i = 0; i < count; ++i)
        pods.push_back(
            in_group(pod_named(name + "-" + std::to_string(i), 5 + pick(30), pick(4) == 0 ? 1 : 0), name, count));
    }
    for (int i = 0; i < 3; ++i) pods.push_back(pod_named("single-" + std::to_string(i), 5 + pick(30)));
    std::shuffle(pods.begin(), pods.end(), chance);
    for (const json& pod : pods) {
      if (pick(3) == 0) cluster.world.kill_after_write(1 + pick(6), 1s);
      cluster.create(pod);
      cluster.world.run_for(std::chrono::milliseconds(pick(4000)));
    }
    // Failed pods are replaced; now and then one that has ended is deleted once its group has noted it.
    int made = 0;
    const auto all_ended = [&] {
      return cluster.finished("group-0") && cluster.finished("group-1") && cluster.finished("group-2");
    };
    for (int round = 0; round < 200 && !all_ended(); ++round) {
      cluster.run_until(all_ended, 10s);
      if (pick(4) == 0) cluster.world.kill_after_write(1 + pick(6), 1s);
      for (const json& pod : cluster.world.list(kPods)) {
        const std::string group(annotation(pod, kPodGroupName).value_or(""));
        const std::string name = pod["metadata"]["name"];
        if (group.empty() || phase_of(cluster.world, name) != "Failed" || cluster.finished(group)) continue;
        if (!cluster.world.condition_true({&kWorkloads, "default", group}, "WaitingForReplacementPods")) continue;
        json next = in_group(pod_named(group + "-r" + std::to_string(made++), 5 + pick(20)), group,
                             std::stoi(std::string(*annotation(pod, kPodGroupTotalCount))));
        cluster.create(next);
        if (pick(2) == 0) cluster.world.remove(pod_key(name));
      }
    }
    INFO(cluster.world.report());
    INFO(state_of(cluster.world));
    CHECK(all_ended());
    CHECK(cluster.within_quota());
    CHECK(cluster.world.settle());
    CHECK(cluster.world.violations().empty());
    for (int i = 0; i < 3; ++i) CHECK(phase_of(cluster.world, "single-" + std::to_string(i)) == "Succeeded");
    crashes += cluster.world.process(0).starts() - 1;
  }
  std::printf("figure pod groups: %d runs, %d crashes of muster, every group ended within its quota\n", runs,
              static_cast<int>(crashes));
  CHECK(crashes >= static_cast<uint64_t>(runs));
}

namespace {

// Replicas that all say that they are the one pod of a group.
json set_of_one_place(int replicas) {
  json pod = in_group(pod_named("", 30), "one", 1);
  pod["metadata"].erase("name");
  pod["metadata"].erase("namespace");
  return {{"apiVersion", kDeployments.api_version},
          {"kind", kDeployments.kind},
          {"metadata", {{"name", "web"}, {"namespace", "default"}}},
          {"spec", {{"replicas", replicas}, {"template", {{"metadata", pod["metadata"]}, {"spec", pod["spec"]}}}}}};
}

}  // namespace

TEST_CASE("excess pods that a controller makes again wait, and an Event has the reason") {
  Cluster cluster(8, 3);
  REQUIRE(cluster.world.create(set_of_one_place(20)).done());
  cluster.world.run_for(5min);
  INFO(cluster.world.report());
  CHECK(cluster.within_quota());
  CHECK(cluster.world.writes(kPods).remove == 0);
  CHECK(cluster.world.has_event("ExcessPodsWait"));
  CHECK(cluster.world.list(kPods).size() == 20);
  CHECK(cluster.world.violations().empty());
}

TEST_CASE("excess pods without a controller are deleted, and ever less often where somebody makes them again") {
  Cluster cluster(9, 3);
  cluster.create(in_group(pod_named("first", 100'000), "one", 1));
  cluster.world.run_for(5s);
  int made = 0;
  const WriteCounts before = cluster.world.writes(kPods);
  for (int round = 0; round < 600; ++round) {
    if (cluster.world.get(pod_key("again")).is_null()) {
      cluster.create(in_group(pod_named("again", 100'000), "one", 1));
      ++made;
    }
    cluster.world.run_for(500ms);
  }
  INFO(cluster.world.report());
  CHECK(made > 5);
  CHECK(made < 15);
  CHECK(cluster.world.writes(kPods).remove - before.remove <= made);
  CHECK(cluster.within_quota());
}

}  // namespace pod_groups_test
