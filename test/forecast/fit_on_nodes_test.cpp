// Flavors that admit what fits on their nodes (docs/nodes.md), in simulations and in estimates of starts.
#include <doctest/doctest.h>

#include "api/meta/constants.h"
#include "scheduler/nodes/node_table.h"
#include "test/forecast/node_scenes.h"
#include "test/forecast/starts/starts_cluster.h"
#include "test/scheduler/nodes/node_news.h"

namespace forecast_fit_on_nodes_test {

using namespace muster;
using namespace muster::test;
using nlohmann::json;

namespace {

forecast::ScenarioOptions watching() {
  forecast::ScenarioOptions options = all_kinds();
  options.settings.queues.watch_nodes = true;
  return options;
}

std::vector<json> fitting(std::vector<json> objects) {
  objects[0]["metadata"]["annotations"][std::string(kFitOnNodesAnnotation)] = "true";
  return objects;
}

}  // namespace

TEST_CASE("fit on nodes: a simulated job is admitted when its pods have nodes, and not before") {
  // Quota is there at once; of 2 nodes with 4 cpus each, the first job leaves one cpu on each.
  const std::vector<json> jobs = {job("a", 2, 3, "10m"), job("b", 1, 4, "10m", "1m"), job("c", 2, 1, "1m", "2m")};
  for (const bool counted : {true, false}) {
    INFO(counted);
    const std::vector<json> objects = with(fitting(counted ? queues_on(20, "2", "cpu=4") : queues(20)), jobs);
    const Played played = play(counted ? objects : with(objects, {node("n1", "4"), node("n2", "4")}), watching());
    CHECK(seconds(played["b"].first_start) == 600);
    CHECK(seconds(played["b"].first_placed) == 600);
    // It passes the one that waits.
    CHECK(seconds(played["c"].first_start) == 120);
    CHECK(played.summary().node_waits.waited == 0);
  }
}

TEST_CASE("fit on nodes: in a simulation each flavor that counts nodes has those that its annotation counts") {
  std::vector<json> objects = fitting(queues_on(20, "1", "cpu=4"));
  const Played played =
      play(with(objects, {node("n1", "100"), job("a", 1, 5, "10m"), job("b", 1, 4, "10m")}), watching());
  REQUIRE(played.history.waiting.size() == 1);
  CHECK(played.history.waiting[0].message.find("insufficient room on the nodes of flavor default for 1 of 1 pod of 5 "
                                               "cpu: 1 node has 4 free") != std::string::npos);
  CHECK(seconds(played["b"].end) == 600);
}

TEST_CASE("fit on nodes: a simulation without nodes counts quota alone and says so, and one without watchNodes waits") {
  const std::vector<json> objects = with(fitting(queues(20)), {job("a", 2, 3, "10m")});
  const auto read = forecast::read_scenario(sources(objects), watching());
  REQUIRE(read.ok());
  CHECK(read->notes.back().find("admits what fits on its nodes") != std::string::npos);
  CHECK(forecast::run(read->scenario).waiting.empty());
  std::vector<json> unlimited = with(objects, {node("n1", "1")});
  annotate(unlimited[0], "nodes", "unlimited");
  CHECK(play(unlimited, watching()).history.waiting.empty());
  const Played unwatched = play(with(objects, {node("n1", "100")}));
  REQUIRE(unwatched.history.waiting.size() == 1);
  CHECK(unwatched.history.waiting[0].message.find("muster does not watch nodes") != std::string::npos);
}

TEST_CASE("fit on nodes: pods outside of the queues and an evicted job's pods are counted as they come and go") {
  std::vector<json> objects = fitting(queues_on(20, "1", "cpu=4"));
  objects[1]["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
  const std::vector<json> classes = from_yaml(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
)");
  json high = job("high", 1, 3, "10m", "1m");
  high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high";
  const Played played = play(with(with(objects, classes), {job("low", 2, 2, "10m"), high}), watching());
  // Its pods take ten seconds to stop.
  CHECK(seconds(played["high"].first_start) == 70);
  CHECK(played["low"].preemptions == 1);
  CHECK(seconds(played["low"].end) == 70 + 600 + 600);
}

TEST_CASE("fit on nodes: an estimated start waits for room on nodes, where quota alone would not") {
  StartsCluster cluster;
  cluster.put(kClusterQueues, "cq", cluster_queue_of({quota_of("f", {{"cpu", "8"}})}));
  cluster.put(kResourceFlavors, "f", {{"metadata", {{"annotations", {{std::string(kFitOnNodesAnnotation), "true"}}}}}});
  cluster.put(kWorkloads, cluster.running("first", 4, 100, {{"maximumExecutionTimeSeconds", 700}}));
  cluster.put(kWorkloads, cluster.workload("second", 4, 50));
  QueueSettings settings = cluster.settings.queues;
  settings.watch_nodes = true;
  starts::StartScene scene = cluster.scene();
  scene.nodes = scheduler::NodeLoads{.resources = {"cpu"}, .nodes = {}};
  const auto node = std::make_shared<const Node>(node_of("a", 5).node);
  scene.nodes->nodes.push_back({node, {1000}});
  const auto seconds_until_second = [&] {
    const StartEstimates all = starts::estimate_starts(scene, cluster.history, settings, {});
    const StartEstimate* estimate = all.find("team-a", "second");
    REQUIRE(estimate != nullptr);
    return estimate->outcome == StartOutcome::kRange ? cluster.seconds_until(estimate->latest) : -1;
  };
  CHECK(seconds_until_second() > 400);
  scene.nodes->nodes.push_back({std::make_shared<const Node>(node_of("b", 4).node), {}});
  CHECK(seconds_until_second() < 10);
}

}  // namespace forecast_fit_on_nodes_test
