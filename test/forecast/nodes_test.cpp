// Nodes: what fits where, and what becomes of admitted jobs whose pods find no node.
#include <doctest/doctest.h>

#include <random>

#include "api/workload_conditions.h"
#include "forecast/node_room.h"
#include "scheduler/eligibility.h"
#include "scheduler/quota/ledger.h"
#include "test/forecast/node_scenes.h"

namespace nodes_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using forecast::NodeRoom;
using nlohmann::json;

namespace {

WaitForPodsReady wait_of(Duration timeout, int limit) {
  return {.timeout = std::chrono::duration_cast<std::chrono::seconds>(timeout),
          .requeuing = {.backoff_limit_count = limit, .backoff_base_seconds = 30}};
}

}  // namespace

TEST_CASE("node room: pods get the first nodes with room, and give it back") {
  NodeRoom room;
  const forecast::NodeRange nodes = room.add(3, {10, 4});
  const forecast::Needs wide = {{0, 4}, {1, 1}}, narrow = {{0, 2}};
  std::vector<forecast::Seats> first, second;
  // Two of four on each node of ten.
  CHECK(room.place({nodes}, wide, 5, first) == 5);
  REQUIRE(first.size() == 2);
  CHECK(first[0].nodes == forecast::NodeRange{0, 2});
  CHECK(first[0].pods_each == 2);
  CHECK(first[1].nodes == forecast::NodeRange{2, 3});
  CHECK(first[1].pods_each == 1);
  // 2, 2 and 6 are left.
  CHECK(room.place({nodes}, wide, 3, second) == 1);
  CHECK(room.place({nodes}, narrow, 9, second) == 3);
  CHECK(room.lack({nodes}, wide).nodes == std::vector<uint64_t>{3, 0});
  room.give_back(first, wide);
  CHECK(room.lack({nodes}, wide).fitting == 3);
}

TEST_CASE("node room: a resource that a node does not have fits nowhere") {
  NodeRoom room;
  const forecast::NodeRange nodes = room.add(5, {10});
  std::vector<forecast::Seats> seats;
  CHECK(room.place({nodes}, {{3, 1}}, 1, seats) == 0);
  CHECK(room.lack({nodes}, {{0, 1}, {3, 1}}).nodes == std::vector<uint64_t>{0, 5});
}

TEST_CASE("node room: in random histories it is as one node after another would have it") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    NodeRoom room;
    std::vector<forecast::NodeRange> ranges;
    std::vector<std::vector<int64_t>> model;
    for (int group = 0; group < 4; ++group) {
      const forecast::Amounts free = {static_cast<int64_t>(random() % 20), static_cast<int64_t>(random() % 20)};
      const uint64_t count = random() % 7;
      ranges.push_back(room.add(count, free));
      for (uint64_t i = 0; i < count; ++i) model.push_back(free);
    }
    struct Held {
      forecast::Needs needs;
      std::vector<forecast::Seats> seats;
    };
    std::vector<Held> held;
    for (int step = 0; step < 60; ++step) {
      if (!held.empty() && random() % 3 == 0) {
        const size_t chosen = random() % held.size();
        room.give_back(held[chosen].seats, held[chosen].needs);
        for (const forecast::Seats& seats : held[chosen].seats) {
          for (uint64_t at = seats.nodes.first; at < seats.nodes.end; ++at) {
            for (const forecast::Need& need : held[chosen].needs)
              model[at][need.resource] += need.amount * seats.pods_each;
          }
        }
        held.erase(held.begin() + static_cast<long>(chosen));
        continue;
      }
      Held made{.needs = {{0, 1 + static_cast<int64_t>(random() % 5)}}, .seats = {}};
      if (random() % 2 == 0) made.needs.push_back({1, 1 + static_cast<int64_t>(random() % 5)});
      std::vector<forecast::NodeRange> chosen;
      for (const forecast::NodeRange& range : ranges) {
        if (random() % 4 != 0) chosen.push_back(range);
      }
      const auto pods = static_cast<int64_t>(1 + random() % 12);
      int64_t expected = 0;
      for (int64_t pod = 0; pod < pods; ++pod) {
        bool placed = false;
        for (const forecast::NodeRange& range : chosen) {
          for (uint64_t at = range.first; at < range.end && !placed; ++at) {
            placed = std::all_of(made.needs.begin(), made.needs.end(),
                                 [&](const forecast::Need& need) { return model[at][need.resource] >= need.amount; });
            if (!placed) continue;
            for (const forecast::Need& need : made.needs) model[at][need.resource] -= need.amount;
          }
          if (placed) break;
        }
        expected += placed;
      }
      CHECK(room.place(chosen, made.needs, pods, made.seats) == expected);
      // What the seats say is what the model has taken.
      held.push_back(std::move(made));
    }
    for (const Held& one : held) {
      room.give_back(one.seats, one.needs);
      for (const forecast::Seats& seats : one.seats) {
        for (uint64_t at = seats.nodes.first; at < seats.nodes.end; ++at) {
          for (const forecast::Need& need : one.needs) model[at][need.resource] += need.amount * seats.pods_each;
        }
      }
    }
    // All are as at the beginning again, and neighbours have become one run.
    CHECK(room.runs() <= ranges.size());
  }
}

TEST_CASE("nodes: a million pods are placed by runs of nodes, not one by one") {
  NodeRoom room;
  const forecast::NodeRange nodes = room.add(1'000'000, {8, 110});
  std::vector<forecast::Seats> seats, more;
  CHECK(room.place({nodes}, {{0, 3}, {1, 1}}, 1'000'001, seats) == 1'000'001);
  CHECK(seats.size() == 2);
  CHECK(room.runs() == 3);
  CHECK(room.place({nodes}, {{0, 1}, {1, 1}}, 5'000'000, more) == 4'999'997);
  // Of cpus none is left; of places for pods 106, 104 and 102.
  CHECK(room.runs() == 3);
  const Played played = play(with(queues_on(3'000'000, "1000000", "cpu=8"), {job("huge", 1'000'001, 2, "1h")}));
  CHECK(seconds(played["huge"].end) == 3600);
}

TEST_CASE("nodes: a job whose pods do not fit on the nodes holds its quota and waits until one is free") {
  // 8 cpus of quota, but no node has 3 cpus free beside the first job's pods.
  const std::vector<json> objects = with(
      queues_on(8, "2", "cpu=4"), {job("a", 2, 2, "10m"), job("b", 1, 4, "10m", "1m"), job("c", 1, 2, "5m", "2m")});
  // First fit: both pods of a are on the first node, b is on the second.
  const Played packed = play(objects);
  CHECK(seconds(packed["b"].first_placed) == 60);
  const Played played = play(with(queues_on(12, "2", "cpu=4"), {job("a", 2, 3, "10m"), job("b", 1, 4, "10m", "1m")}));
  CHECK(seconds(played["b"].first_start) == 60);
  CHECK(seconds(played["b"].first_placed) == 600);
  CHECK(seconds(played["b"].end) == 1200);
  const forecast::Summary summary = played.summary();
  CHECK(summary.knows_nodes);
  CHECK(summary.node_waits.waited == 1);
  CHECK(summary.node_waits.in_vain == 0);
  CHECK(summary.node_waits.waits.most == 540);
  CHECK(summary.node_waits.most_pods == 1);
  REQUIRE(summary.nodes.size() == 1);
  CHECK(summary.nodes[0].nodes == 2);
  CHECK(summary.nodes[0].allocatable == 8000);
  CHECK(summary.nodes[0].most == 6000);
}

TEST_CASE("nodes: two jobs that hold half of their pods each are separated by waitForPodsReady") {
  forecast::ScenarioOptions options = all_kinds();
  // Eight places: a gets six, and b holds the two that are left while it waits for four.
  std::vector<json> objects = with(queues_on(12, "4", "cpu=2"), {job("a", 6, 1, "10m"), job("b", 6, 1, "10m")});
  const Played without = play(objects, options);
  CHECK(without["a"].fate == forecast::Fate::kFinished);
  CHECK(seconds(without["b"].first_placed) == 600);
  // b is evicted after its timeout, comes again after its backoff, and runs once a has ended.
  options.settings.queues.wait_for_pods_ready = wait_of(2min, 10);
  const Played timed = play(objects, options);
  CHECK(timed["b"].evictions >= 1);
  CHECK(timed["b"].fate == forecast::Fate::kFinished);
  CHECK(timed.history.evictions.at("cluster").contains("PodsReadyTimeout"));
  CHECK(timed.summary().node_waits.in_vain == timed["b"].evictions);
}

TEST_CASE("nodes: a job for which no node is large enough is evicted and deactivated, or is named at the end") {
  std::vector<json> objects = with(queues_on(8, "4", "cpu=2"), {job("wide", 1, 4, "10m")});
  const Played played = play(objects);
  CHECK(played["wide"].fate == forecast::Fate::kRunning);
  CHECK(played["wide"].first_placed == forecast::kNever);
  REQUIRE(played.history.without_node.size() == 1);
  CHECK(played.history.without_node[0].pods == 1);
  CHECK(played.history.without_node[0].message == "0/4 nodes are available: 4 Insufficient cpu.");
  CHECK(played.summary().groups[0].never_placed == 1);
  forecast::ScenarioOptions options = all_kinds();
  options.settings.queues.wait_for_pods_ready = wait_of(1min, 2);
  const Played timed = play(objects, options);
  CHECK(timed["wide"].fate == forecast::Fate::kDeactivated);
  CHECK(timed.history.without_node.empty());
}

TEST_CASE("nodes: a flavor whose nodes are taken is left for the next one, by the product's fallback") {
  std::vector<json> objects = from_yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot, annotations: {simulate.muster.batch/nodes: "0"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: steady, annotations: {simulate.muster.batch/nodes: "2", simulate.muster.batch/node-resources: "cpu=4"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: spot, resources: [{name: cpu, nominalQuota: 4}]}
    - {name: steady, resources: [{name: cpu, nominalQuota: 4}]}
  flavorFungibility:
    fallbackStrategy:
      rules: [{name: spot, trigger: TimeoutForPodsReadyExceeded, timeout: 2m}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: cluster}
)");
  const Played played = play(with(objects, {job("a", 4, 1, "10m")}));
  CHECK(played["a"].fallbacks == 1);
  CHECK(played.history.flavor_sets[played["a"].flavors] == "steady");
  CHECK(seconds(played["a"].end) == 120 + 10 + 600);
}

TEST_CASE(
    "nodes: those of the input are a flavor's by their labels, and keep out what does not tolerate their taints") {
  std::vector<json> objects = queues(100);
  objects[0]["spec"]["nodeLabels"] = {{"pool", "gpu"}};
  const json taint = {{"key", "team"}, {"value", "red"}, {"effect", "NoSchedule"}};
  const std::vector<json> nodes = {node("n1", "4", {{"pool", "cpu"}}), node("n2", "4", {{"pool", "gpu"}}),
                                   node("n3", "4", {{"pool", "gpu"}}, json::array({taint}))};
  json tolerant = job("tolerant", 8, 1, "10m");
  tolerant["spec"]["template"]["spec"]["tolerations"] = json::array({{{"key", "team"}, {"operator", "Exists"}}});
  const Played both = play(with(with(objects, nodes), {tolerant}));
  CHECK(seconds(both["tolerant"].first_placed) == 0);
  const Played one = play(with(with(objects, nodes), {job("strict", 8, 1, "10m")}));
  REQUIRE(one.history.without_node.size() == 1);
  CHECK(one.history.without_node[0].pods == 4);
  CHECK(one.history.without_node[0].message ==
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s).");
  // A cordoned node takes no more pods.
  std::vector<json> cordoned = nodes;
  cordoned[1]["spec"]["unschedulable"] = true;
  CHECK(play(with(with(objects, cordoned), {job("strict", 1, 1, "10m")})).history.without_node.size() == 1);
  // Its own selector counts too.
  json picky = job("picky", 1, 1, "10m");
  picky["spec"]["template"]["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "n9"}};
  CHECK(play(with(with(objects, nodes), {picky})).history.without_node.size() == 1);
}

TEST_CASE("nodes: pods outside of the queues hold their part of a node, and those of queues are not counted twice") {
  std::vector<json> objects = queues(100);
  const auto pod = [](const std::string& name, const json& labels, const char* phase) -> json {
    const json container = {{"name", "c"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", "3"}}}}}};
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", name}, {"namespace", "kube-system"}, {"labels", labels}}},
            {"spec", {{"nodeName", "n1"}, {"containers", json::array({container})}}},
            {"status", {{"phase", phase}}}};
  };
  const auto free_of = [&](const std::vector<json>& pods) {
    const Played played = play(with(with(objects, {node("n1", "4")}), with(pods, {job("a", 4, 1, "10m")})));
    return played.history.without_node.empty() ? 4 : 4 - played.history.without_node[0].pods;
  };
  CHECK(free_of({}) == 4);
  CHECK(free_of({pod("agent", json::object(), "Running")}) == 1);
  CHECK(free_of({pod("done", json::object(), "Succeeded")}) == 4);
  CHECK(free_of({pod("train-0", {{"kueue.x-k8s.io/podset", "main"}}, "Running")}) == 4);
}

TEST_CASE("nodes: a flavor without any is not limited by nodes, and a note says so") {
  std::vector<json> objects = queues(100);
  objects[0]["spec"]["nodeLabels"] = {{"pool", "spot"}};
  const std::vector<json> all = with(objects, {node("n1", "4", {{"pool", "cpu"}}), job("a", 50, 1, "10m")});
  const auto read = forecast::read_scenario(sources(all), all_kinds());
  REQUIRE(read.ok());
  CHECK(read->notes.back().find("no node of the input carries the labels of ResourceFlavor default") == 0);
  CHECK(forecast::run(read->scenario).without_node.empty());
  // The annotation is stronger than what the input holds.
  std::vector<json> counted = all;
  annotate(counted[0], "nodes", "0");
  CHECK(play(counted).history.without_node.size() == 1);
  std::vector<json> endless = with(queues(100), {node("n1", "4"), job("a", 50, 1, "10m")});
  CHECK(play(endless).history.without_node.size() == 1);
  annotate(endless[0], "nodes", "unlimited");
  CHECK(play(endless).history.without_node.empty());
  forecast::ScenarioOptions options = all_kinds();
  options.ignore_nodes = true;
  CHECK(play(with(queues_on(8, "1", "cpu=1"), {job("a", 4, 2, "10m")}), options).history.without_node.empty());
}

TEST_CASE("nodes: what runs already in a cluster runs on, also where the nodes of the input have no room for it") {
  std::vector<json> objects = queues_on(8, "1", "cpu=2");
  json stored = from_yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: job-old-1, namespace: default, uid: w1, creationTimestamp: "2026-03-01T08:00:00Z"}
spec:
  queueName: team
  maximumExecutionTimeSeconds: 3600
  podSets:
  - {name: main, count: 4, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
status:
  admission:
    clusterQueue: cluster
    podSetAssignments: [{name: main, count: 4, flavors: {cpu: default}, resourceUsage: {cpu: "4"}}]
  conditions:
  - {type: QuotaReserved, status: "True", reason: QuotaReserved, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
  - {type: Admitted, status: "True", reason: Admitted, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
  - {type: PodsReady, status: "True", reason: PodsReady, message: m, lastTransitionTime: "2026-03-01T08:00:00Z"}
)")
                    .front();
  const Played played = play(with(objects, {stored}));
  CHECK(played.history.jobs[0].fate == forecast::Fate::kFinished);
  REQUIRE(played.history.notes.size() == 1);
  CHECK(played.history.notes[0].find("2 pods of jobs that run already have no room") == 0);
}

TEST_CASE("nodes: annotations that say half of it, or nonsense, are refused with a sentence") {
  const auto refused = [](const char* nodes, const char* resources) {
    std::vector<json> objects = queues(1);
    if (*nodes != 0) annotate(objects[0], "nodes", nodes);
    if (*resources != 0) annotate(objects[0], "node-resources", resources);
    return refusal_of(with(objects, {queued_job(1, "a")}));
  };
  CHECK(
      refused("3", "").find("metadata.annotations[simulate.muster.batch/node-resources]: Required value: says what") !=
      std::string::npos);
  CHECK(refused("", "cpu=4").find("metadata.annotations[simulate.muster.batch/nodes]: Required value: says how") !=
        std::string::npos);
  CHECK(refused("-1", "cpu=4").find("must be a number from 0 to 1000000, or unlimited") != std::string::npos);
  CHECK(refused("1000001", "cpu=4") != "");
  CHECK(refused("3", "cpu").find("\"cpu\" is no amount; write them as cpu=4;memory=8Gi") != std::string::npos);
  CHECK(refused("3", "cpu=-4").find("must not be negative") != std::string::npos);
  CHECK(refused("3", "cpu=4;cpu=5").find("is there twice") != std::string::npos);
  CHECK(refused("3", ";").find("is no amount") != std::string::npos);
  CHECK(refused("3", "cpu=4;memory=16Gi") == "");
  CHECK(refused("0", "") == "");
}

}  // namespace nodes_test
