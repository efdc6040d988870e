// Flavors that admit what fits on their nodes, through the whole engine.
#include <doctest/doctest.h>

#include "api/meta/constants.h"
#include "scheduler/nodes/node_table.h"
#include "test/engine/served_engine.h"
#include "test/scheduler/nodes/node_news.h"

namespace fit_on_nodes_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;
using scheduler::NodePart;

namespace {

EngineSettings watching() {
  EngineSettings settings;
  settings.reconcilers.queues.watch_nodes = true;
  return settings;
}

class NodesServed : public ServedEngine {
 public:
  explicit NodesServed(EngineSettings settings = watching()) : ServedEngine(std::move(settings)) {
    flavor("f");
    put_cluster_queue("cq", "100", {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
  }

  void flavor(const std::string& name, const json& spec = json::object(), const char* fit = "true") {
    put(kResourceFlavors, name,
        {{"metadata", {{"annotations", {{std::string(kFitOnNodesAnnotation), fit}}}}}, {"spec", spec}});
  }
  void see(scheduler::NodeNews news) { engine.apply(NodesObserved{std::move(news)}, now()); }
  void listed() {
    for (const NodePart part : {NodePart::kNodes, NodePart::kPods}) see(scheduler::PartListed{part});
  }
  // It waits until this happens.
  template <class Change>
  void waits_until(const std::string& name, Change change) {
    CHECK_FALSE(runs(name));
    change();
    settle_later();
    CHECK(runs(name));
  }
  // This number of pods, of this number of cpus each.
  void submit(const std::string& name, int pods, const char* cpu, const json& more = json::object(),
              const json& spec = json::object()) {
    json pod_template = pod_template_of({{"cpu", cpu}});
    pod_template["spec"].update(spec);
    put(kWorkloads, name, workload_of(pods, pod_template, more));
    settle();
  }
  // What has waited for nodes is evaluated again after a while.
  void settle_later() {
    settle();
    pass(std::chrono::seconds(1));
    settle();
  }
  bool runs(const std::string& name) const { return condition_of(name, "QuotaReserved") == "True QuotaReserved"; }
  // A reason is written when it has not changed for a while.
  std::string why(const std::string& name) {
    pass(std::chrono::seconds(3));
    settle();
    const json conditions = status(kWorkloads, name)["conditions"];
    for (const json& condition : conditions) {
      if (condition["type"] == "QuotaReserved") return condition["message"];
    }
    return "";
  }
};

}  // namespace

TEST_CASE("fit on nodes: a Workload waits until all of its pods have room, and says what is short") {
  NodesServed served;
  served.see(node_of("a", 4));
  served.see(node_of("b", 3));
  served.listed();
  served.submit("fits", 3, "2");
  CHECK(served.runs("fits"));
  // Room for one pod is left on paper only: its places are taken before any pod has a node.
  served.submit("waits", 2, "1");
  served.settle_later();
  CHECK_FALSE(served.runs("waits"));
  CHECK(served.why("waits").find("insufficient room on the nodes of flavor f for 1 of 2 pods of 1 cpu: 1 node has "
                                 "enough for one or more, 1 node has 0 free") != std::string::npos);
  served.see(node_of("c", 1));
  served.settle_later();
  CHECK(served.runs("waits"));
}

TEST_CASE("fit on nodes: pods of other clients take room, and wake what waits when they leave") {
  NodesServed served;
  served.see(node_of("a", 4));
  served.listed();
  served.see(pod_on("a", "1", {{"cpu", 3000}}));
  served.submit("waits", 1, "2");
  served.waits_until("waits", [&] { served.see(pod_gone("1")); });
}

TEST_CASE("fit on nodes: a node that kube-scheduler chose replaces the place that was kept") {
  NodesServed served;
  served.see(node_of("a", 4));
  served.see(node_of("b", 4));
  served.listed();
  served.submit("first", 1, "3");
  REQUIRE(served.runs("first"));
  // Its place is on one of the two nodes; the pod goes to either one, and the other one is free then.
  for (const char* node : {"a", "b"}) {
    INFO(node);
    served.see(pod_on(node, "1", {{"cpu", 3000}}, "first"));
    served.submit("second", 1, "4");
    CHECK(served.runs("second"));
    served.submit("third", 1, "2");
    CHECK_FALSE(served.runs("third"));
    for (const char* each : {"second", "third"}) served.vanish(kWorkloads, each);
    served.settle();
  }
}

TEST_CASE("fit on nodes: a place that is lost is looked for before others get what is free") {
  void (*const losses[])(NodesServed&) = {
      [](NodesServed& served) {
        served.see(pod_on("a", "thief", {{"cpu", 3000}}));
      },
      [](NodesServed& served) {
        scheduler::NodeSeen node = node_of("a", 4);
        node.node.cordoned = true;
        served.see(node);
      },
      [](NodesServed& served) {
        served.see(scheduler::PartGone{NodePart::kNodes, "a"});
      },
  };
  for (const auto lose : losses) {
    NodesServed served;
    served.see(node_of("a", 4));
    served.see(node_of("b", 6));
    served.see(pod_on("b", "blocker", {{"cpu", 5000}}));
    served.listed();
    served.submit("first", 1, "3");
    REQUIRE(served.runs("first"));
    served.submit("second", 1, "4");
    served.submit("third", 1, "3");
    lose(served);
    served.settle_later();
    served.see(pod_gone("blocker"));
    served.settle_later();
    CHECK_FALSE(served.runs("second"));
    CHECK(served.runs("third"));
  }
}

TEST_CASE("fit on nodes: a leader that starts keeps places for pods without a node, once the nodes are known") {
  NodesServed before;
  before.see(node_of("a", 3));
  before.listed();
  before.submit("starts", 1, "3");
  REQUIRE(before.runs("starts"));
  NodesServed served;
  served.put(kWorkloads, "starts", before.get(kWorkloads, "starts"));
  served.submit("waits", 1, "3");
  served.see(node_of("a", 3));
  served.listed();
  served.settle_later();
  CHECK_FALSE(served.runs("waits"));
  // And no reason stays that is no longer true.
  CHECK(served.why("waits").find("1 node has 0 free") != std::string::npos);
  served.see(node_of("b", 3));
  served.settle_later();
  CHECK(served.runs("waits"));
}

TEST_CASE("fit on nodes: pods that name a Workload beyond its count, or in another namespace, free nothing") {
  NodesServed served;
  served.see(node_of("a", 10));
  served.listed();
  served.submit("first", 1, "2");
  REQUIRE(served.runs("first"));
  for (const char* uid : {"1", "2", "3"}) served.see(pod_on("a", uid, {{"cpu", 2000}}, "first"));
  scheduler::PodSeen other = pod_on("a", "4", {{"cpu", 2000}}, "first");
  other.pod.ns = "team-b";
  served.see(other);
  // Four pods of two cpus are there, whatever they say.
  served.submit("second", 1, "3");
  CHECK_FALSE(served.runs("second"));
  served.submit("third", 1, "2");
  CHECK(served.runs("third"));
}

TEST_CASE("fit on nodes: preemption frees until quota and nodes fit, or does not begin") {
  NodesServed served;
  served.see(node_of("a", 4));
  served.listed();
  served.submit("low", 2, "2", {{"priority", 1}});
  REQUIRE(served.runs("low"));
  for (const char* uid : {"1", "2"}) served.see(pod_on("a", uid, {{"cpu", 2000}}, "low"));
  // No node is large enough, whoever leaves.
  served.submit("too-large", 1, "5", {{"priority", 9}});
  CHECK(served.condition_of("low", "Evicted").empty());
  served.submit("high", 1, "3", {{"priority", 9}});
  CHECK(served.condition_of("low", "Evicted") == "True Preempted");
  CHECK_FALSE(served.runs("high"));
}

TEST_CASE("fit on nodes: labels, selectors, taints, readiness and cordons decide which nodes count") {
  struct Row {
    const char* name;
    json flavor;
    json pods;
    void (*change)(Node& node);
    const char* why;  // empty: it fits
  };
  const json tolerations = json::array({{{"key", "spot"}, {"operator", "Exists"}}});
  const Row rows[] = {
      {"nothing special", {}, {}, [](Node&) {}, ""},
      {"labels of the flavor",
       {{"nodeLabels", {{"pool", "x"}}}},
       {},
       [](Node&) {},
       "no node has the labels of flavor g"},
      {"labels that the node has", {{"nodeLabels", {{"pool", "x"}}}}, {}, [](Node& n) { n.labels["pool"] = "x"; }, ""},
      {"a selector", {}, {{"nodeSelector", {{"disk", "ssd"}}}}, [](Node&) {}, "1 do not match their node selector"},
      {"a selector that matches",
       {},
       {{"nodeSelector", {{"disk", "ssd"}}}},
       [](Node& n) { n.labels["disk"] = "ssd"; },
       ""},
      {"a taint",
       {},
       {},
       [](Node& n) {
         n.taints = {{"spot", "", "NoSchedule"}};
       },
       "1 have a taint"},
      {"a soft taint",
       {},
       {},
       [](Node& n) {
         n.taints = {{"spot", "", "PreferNoSchedule"}};
       },
       ""},
      {"a taint that the pods tolerate",
       {},
       {{"tolerations", tolerations}},
       [](Node& n) {
         n.taints = {{"spot", "", "NoSchedule"}};
       },
       ""},
      {"a taint that the flavor tolerates",
       {{"tolerations", tolerations}},
       {},
       [](Node& n) {
         n.taints = {{"spot", "", "NoSchedule"}};
       },
       ""},
      {"a cordon", {}, {}, [](Node& n) { n.cordoned = true; }, "1 are not ready or cordoned"},
      {"not ready", {}, {}, [](Node& n) { n.ready = false; }, "1 are not ready or cordoned"},
      {"full of pods",
       {},
       {},
       [](Node& n) { n.allocatable["pods"] = 0; },
       "insufficient room on the nodes of flavor g"},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    NodesServed served;
    served.flavor("g", row.flavor.is_null() ? json::object() : row.flavor);
    served.put(kClusterQueues, "cq", cluster_queue_of({quota_of("g", {{"cpu", "100"}})}));
    scheduler::NodeSeen node = node_of("a", 4);
    row.change(node.node);
    served.see(node);
    served.listed();
    served.submit("job", 1, "1", json::object(), row.pods.is_null() ? json::object() : row.pods);
    CHECK(served.runs("job") == (*row.why == '\0'));
    if (*row.why != '\0') CHECK_MESSAGE(served.why("job").find(row.why) != std::string::npos, served.why("job"));
  }
}

TEST_CASE("fit on nodes: partial admission starts as many pods as have room") {
  NodesServed served;
  served.see(node_of("a", 4));
  served.see(node_of("b", 3));
  served.listed();
  json job = workload_of(9, pod_template_of({{"cpu", "2"}}));
  job["spec"]["podSets"][0]["minCount"] = 2;
  served.put(kWorkloads, "job", job);
  served.settle();
  REQUIRE(served.runs("job"));
  CHECK(served.status(kWorkloads, "job")["admission"]["podSetAssignments"][0]["count"] == 3);
}

TEST_CASE("fit on nodes: what is taken on nodes is told without the pods that hold quota") {
  NodesServed served;
  CHECK_FALSE(served.engine.decisions().node_loads());
  served.see(node_of("a", 8));
  served.listed();
  served.submit("first", 1, "2");
  served.see(pod_on("a", "1", {{"cpu", 2000}}, "first"));
  served.see(pod_on("a", "2", {{"cpu", 3000}}));
  served.settle();
  const auto loads = served.engine.decisions().node_loads();
  REQUIRE(loads);
  REQUIRE(loads->nodes.size() == 1);
  for (size_t i = 0; i < loads->resources.size(); ++i) {
    if (loads->resources[i] == "cpu") CHECK(loads->nodes[0].taken.at(i) == 3000);
  }
}

TEST_CASE("fit on nodes: where the first flavor has no room, the next one is tried") {
  NodesServed served;
  served.flavor("g", {{"nodeLabels", {{"pool", "g"}}}});
  served.put(kResourceFlavors, "plain", json::object());
  served.put(kClusterQueues, "cq",
             cluster_queue_of(
                 {quota_of("f", {{"cpu", "9"}}), quota_of("g", {{"cpu", "9"}}), quota_of("plain", {{"cpu", "9"}})}));
  served.see(node_of("a", 1));
  served.see(node_of("b", 4, 0, {{"pool", "g"}}));
  served.listed();
  const auto flavor_of = [&](const char* name) {
    return served.get(kWorkloads, name)["status"]["admission"]["podSetAssignments"][0]["flavors"]["cpu"];
  };
  served.submit("one", 1, "4");
  CHECK(flavor_of("one") == "f");
  served.submit("two", 1, "2");
  // A flavor without the annotation asks no node.
  CHECK(flavor_of("two") == "plain");
}

TEST_CASE("fit on nodes: nothing is decided before nodes and pods are known, and after a change of leaders again") {
  NodesServed served;
  served.see(node_of("a", 4));
  served.submit("waits", 1, "1");
  CHECK_FALSE(served.runs("waits"));
  CHECK(served.why("waits").find("the nodes of the cluster are not known yet") != std::string::npos);
  served.listed();
  served.settle_later();
  CHECK(served.runs("waits"));
  served.engine.apply(LeadershipChanged{false}, served.now());
  served.engine.apply(LeadershipChanged{true, 2}, served.now());
  for (const WatchedKind& kind : watched_kinds()) served.engine.apply(KindCaughtUp{kind.type, 2}, served.now());
  served.submit("later", 1, "1");
  CHECK_FALSE(served.runs("later"));
  for (const NodePart part : {NodePart::kNodes, NodePart::kPods}) served.see(scheduler::PartCaughtUp{part, 2});
  served.settle_later();
  CHECK(served.runs("later"));
}

TEST_CASE("fit on nodes: without watchNodes such a flavor admits nothing, and says why") {
  NodesServed served{EngineSettings()};
  served.listed();
  served.submit("waits", 1, "1");
  CHECK_FALSE(served.runs("waits"));
  CHECK(served.why("waits").find("muster does not watch nodes") != std::string::npos);
  served.flavor("f", json::object(), "false");
  served.settle_later();
  CHECK(served.runs("waits"));
}

TEST_CASE("fit on nodes: holders count from the moment when their flavor begins to count nodes") {
  NodesServed served;
  served.flavor("f", json::object(), "false");
  served.see(node_of("a", 4));
  served.listed();
  served.submit("early", 1, "3");
  REQUIRE(served.runs("early"));
  served.flavor("f");
  served.submit("late", 1, "2");
  served.waits_until("late", [&] { served.vanish(kWorkloads, "early"); });
}

TEST_CASE("fit on nodes: a node that is gone takes its room along, and a pod set has room beside an earlier one") {
  NodesServed served;
  served.see(node_of("a", 4));
  served.see(node_of("b", 4));
  served.listed();
  json two = workload_of(1, pod_template_of({{"cpu", "3"}}));
  two["spec"]["podSets"].push_back(two["spec"]["podSets"][0]);
  two["spec"]["podSets"][1]["name"] = "other";
  served.put(kWorkloads, "two", two);
  served.settle();
  CHECK(served.runs("two"));
  served.vanish(kWorkloads, "two");
  served.see(scheduler::PartGone{NodePart::kNodes, "b"});
  served.put(kWorkloads, "again", two);
  served.settle_later();
  CHECK_FALSE(served.runs("again"));
  served.see(node_of("b", 4));
  served.settle_later();
  CHECK(served.runs("again"));
}

}  // namespace fit_on_nodes_test
