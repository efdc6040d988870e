// Which flavor a Workload gets, and which reason it gets when it gets none.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "scheduler/eligibility.h"
#include "scheduler/partial_admission.h"
#include "test/scheduler/scheduler_fixture.h"

namespace flavors_test {

using namespace muster;
using namespace muster::scheduler;
using nlohmann::json;
using test::at;
using test::Cluster;
using test::cluster_queue;
using test::workload;

namespace {

ResourceFlavor tainted(const char* name) {
  ResourceFlavor flavor = test::resource_flavor(name);
  flavor.node_labels = {{"class", name}};
  flavor.node_taints = {{.key = "class", .value = name, .effect = "NoSchedule"}};
  return flavor;
}

ResourceFlavor labelled(const char* name) {
  ResourceFlavor flavor = test::resource_flavor(name);
  flavor.node_labels = {{"class", name}};
  return flavor;
}

Workload with_pod(const std::string& name, json pod_spec) {
  Workload made = workload(name, "a");
  pod_spec["containers"] = {{{"name", "main"}}};
  made.pod_sets[0].pod_template = read_pod_template({{"spec", std::move(pod_spec)}});
  return made;
}

// The flavor of the first admission, or the message of the first refusal.
std::string answer(const std::vector<Decision>& decisions) {
  if (decisions.empty()) return "nothing";
  if (const auto* admitted = std::get_if<Admitted>(&decisions[0]))
    return admitted->admission.pod_sets[0].flavors.at("cpu");
  if (const auto* pending = std::get_if<Pending>(&decisions[0])) return pending->message;
  return "preempts";
}

}  // namespace

TEST_CASE("flavors: taints and selectors and affinity decide which are eligible") {
  struct Row {
    const char* what;
    json pod;
    const char* answer;
  };
  const json zone = {{"key", "zone"}, {"operator", "In"}, {"values", {"x"}}};
  const json spot = {{"key", "class"}, {"operator", "In"}, {"values", {"spot"}}};
  const auto affinity = [](json terms) {
    return json{{"affinity",
                 {{"nodeAffinity",
                   {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", std::move(terms)}}}}}}}};
  };
  const Row rows[] = {
      {"a plain pod takes the first without a taint", json::object(), "reserved"},
      {"a toleration opens the tainted one", {{"tolerations", {{{"key", "class"}, {"operator", "Exists"}}}}}, "gpu"},
      {"a selector on a label of the flavors decides", {{"nodeSelector", {{"class", "spot"}}}}, "spot"},
      {"a selector on a label that no flavor has is ignored", {{"nodeSelector", {{"zone", "x"}}}}, "reserved"},
      {"an affinity term decides", affinity({{{"matchExpressions", {spot}}}}), "spot"},
      {"a term without a label of the flavor allows it", affinity({{{"matchExpressions", {zone}}}}), "reserved"},
      {"terms are alternatives", affinity({{{"matchExpressions", {spot}}}, {{"matchExpressions", {zone}}}}),
       "reserved"},
      {"none is eligible",
       {{"nodeSelector", {{"class", "tape"}}}},
       "couldn't assign flavors to pod set main: flavor reserved doesn't match node affinity, flavor spot doesn't "
       "match "
       "node affinity, untolerated taint class=gpu:NoSchedule in flavor gpu"}};
  for (const Row& row : rows) {
    INFO(std::string(row.what));
    Cluster cluster;
    cluster.put(tainted("gpu"));
    cluster.put(labelled("reserved"));
    cluster.put(labelled("spot"));
    cluster.put(cluster_queue("a", "", {{"gpu", 4}, {"reserved", 4}, {"spot", 4}}));
    cluster.put(with_pod("one", row.pod), 1);
    CHECK_EQ(answer(cluster.scheduler.drain(at(0))), std::string(row.answer));
  }
}

TEST_CASE("flavors: fungibility says whether to borrow or to preempt or to look further") {
  struct Row {
    const char* what;
    FlavorFungibility fungibility;
    const char* answer;
  };
  const auto prefer = FungibilityPreference::kPreemptionOverBorrowing;
  const Row rows[] = {{"by default borrowing ends the search", {}, "first"},
                      {"unless the next flavor shall be tried then", {.try_next_when_can_borrow = true}, "second"},
                      {"and what borrows loses against what needs no preemption",
                       {.try_next_when_can_borrow = true, .preference = prefer},
                       "second"}};
  for (const Row& row : rows) {
    INFO(std::string(row.what));
    Cluster cluster;
    cluster.put(test::resource_flavor("first"));
    cluster.put(test::resource_flavor("second"));
    ClusterQueue queue = cluster_queue("a", "team", {{"first", 1}, {"second", 4}});
    queue.fungibility = row.fungibility;
    cluster.put(queue);
    cluster.put(cluster_queue("lender", "team", {{"first", 4}, {"second", 0}}));
    cluster.put(workload("one", "a"), 2);
    CHECK_EQ(answer(cluster.scheduler.drain(at(0))), std::string(row.answer));
  }
}

TEST_CASE("flavors: preemption in the first or the free second is a matter of whenCanPreempt") {
  for (const bool try_next : {true, false}) {
    INFO(try_next);
    Cluster cluster;
    cluster.put(test::resource_flavor("first"));
    cluster.put(test::resource_flavor("second"));
    ClusterQueue queue = cluster_queue("a", "", {{"first", 4}, {"second", 4}});
    queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
    queue.fungibility.try_next_when_can_preempt = try_next;
    cluster.put(queue);
    cluster.put(workload("low", "a", 0, 1), 4);
    const std::vector<Decision> first = cluster.scheduler.drain(at(0));
    cluster.confirm(std::get<Admitted>(first.at(0)), 4);
    cluster.put(workload("high", "a", 1, 2), 4, 1);
    CHECK_EQ(answer(cluster.scheduler.cycle(at(1))), std::string(try_next ? "second" : "preempts"));
  }
}

TEST_CASE("flavors: a search that stopped goes on with the next flavor and begins anew for other requests") {
  for (const int64_t cores : {3, 1}) {
    INFO(cores);
    Cluster cluster;
    cluster.put(test::resource_flavor("first"));
    cluster.put(test::resource_flavor("second"));
    cluster.put(cluster_queue("a", "team", {{"first", 1}, {"second", 4}}));
    cluster.put(cluster_queue("b", "team", {{"first", 1}}));
    cluster.put(cluster_queue("lender", "team", {{"first", 2}}));
    cluster.put(workload("late", "a", 0), 3);
    cluster.put(workload("early", "b", 1), 2);
    CHECK(cluster.cycle() == "+early ?late:skipped");
    cluster.put(workload("late", "a", 0), cores);
    CHECK_EQ(answer(cluster.scheduler.cycle(at(1))), std::string(cores == 3 ? "second" : "first"));
  }
}

TEST_CASE("flavors: one flavor for all resources of a group and another for another group") {
  Cluster cluster;
  cluster.put(test::resource_flavor("machines"));
  cluster.put(test::resource_flavor("cards"));
  ClusterQueue queue = cluster_queue("a", "", {{"machines", 8}});
  queue.resource_groups.push_back(
      {.covered_resources = {"gpu"},
       .flavors = {
           {.name = "cards",
            .resources = {{.name = "gpu", .nominal = Quantity::of(2), .borrowing_limit = {}, .lending_limit = {}}}}}});
  cluster.put(queue);
  const auto ask = [&](const char* name, int64_t gpus) {
    cluster.scheduler.put(std::make_shared<const Workload>(workload(name, "a")), {{{"cpu", 1000}, {"gpu", gpus}}},
                          at(0));
    return cluster.scheduler.drain(at(0));
  };
  const std::vector<Decision> both = ask("both", 1);
  const Admitted& admitted = std::get<Admitted>(both.at(0));
  CHECK(admitted.admission.pod_sets[0].flavors ==
        std::map<std::string, std::string, std::less<>>{{"cpu", "machines"}, {"gpu", "cards"}});
  CHECK(answer(ask("greedy", 3)).find("for gpu in flavor cards") != std::string::npos);
}

TEST_CASE("flavors: a search that one resource group ends leaves nothing to go on with in another") {
  Cluster cluster;
  for (const char* name : {"first", "second", "cores"}) cluster.put(test::resource_flavor(name));
  const auto memory_of = [](int64_t first, int64_t second) {
    const auto flavor = [](const char* name, int64_t nominal) {
      return FlavorQuotas{
          .name = name,
          .resources = {
              {.name = "memory", .nominal = Quantity::of(nominal), .borrowing_limit = {}, .lending_limit = {}}}};
    };
    return ResourceGroup{.covered_resources = {"memory"},
                         .flavors = {flavor("first", first), flavor("second", second)}};
  };
  // Memory comes first. Borrowing ends its search at the first flavor, and the second one is left.
  ClusterQueue queue = cluster_queue("a", "c", {{.flavor = "cores", .nominal = 2}});
  queue.resource_groups.push_back(memory_of(0, 4));
  ClusterQueue lender = cluster_queue("lender", "c", {});
  lender.resource_groups = {memory_of(4, 0)};
  cluster.put(queue);
  cluster.put(lender);
  cluster.scheduler.put(std::make_shared<const Workload>(workload("greedy", "a")), {{{"cpu", 3000}, {"memory", 1}}},
                        at(0));
  CHECK(cluster.cycle() == "?greedy:noFit");
  CHECK(position_of(cluster.scheduler.state(), "team", "greedy") == QueuePosition::kInadmissible);
}

TEST_CASE("flavors: a resource that the queue does not cover is refused unless it is to be ignored") {
  for (const bool ignore : {false, true}) {
    INFO(ignore);
    Cluster cluster({.fair_sharing = {}, .ignore_undeclared_resources = ignore});
    cluster.put(cluster_queue("a", "", {{.nominal = 8}}));
    cluster.scheduler.put(std::make_shared<const Workload>(workload("one", "a")), {{{"cpu", 1000}, {"licence", 1}}},
                          at(0));
    CHECK_EQ(
        answer(cluster.scheduler.drain(at(0))),
        std::string(ignore ? "default"
                           : "couldn't assign flavors to pod set main: resource licence unavailable in ClusterQueue"));
  }
}

TEST_CASE("flavors: pods that ask for a place in a topology get no flavor and others do") {
  struct Row {
    const char* what;
    json request;
    const char* answer;
  };
  const char* const none =
      "couldn't assign flavors to pod set main: Flavor \"default\" does not support TopologyAwareScheduling";
  const Row rows[] = {
      {"no request", json(), "default"},
      {"how pods are indexed", {{"podIndexLabel", "index"}, {"subGroupCount", 1}}, "default"},
      {"a required level", {{"required", "rack"}}, none},
      {"a preferred level", {{"preferred", "rack"}}, none},
      {"any place", {{"unconstrained", true}}, none},
      {"no place at all", {{"unconstrained", false}}, none},
      {"slices", {{"podSetSliceRequiredTopology", "rack"}, {"podSetSliceSize", 2}}, none},
      {"layers of slices",
       {{"podsetSliceRequiredTopologyConstraints", json::array({{{"topology", "rack"}, {"size", 2}}})}},
       none},
      {"a group", {{"podSetGroupName", "ring"}}, none},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    for (const bool gate : {true, false}) {
      Cluster cluster({.topology_requests = gate});
      cluster.put(cluster_queue("a", "", {{.nominal = 8}}));
      Workload asking = workload("asking", "a");
      asking.pod_sets[0].asks_for_topology = asks_for_topology(row.request);
      cluster.put(asking, 1);
      CHECK_EQ(answer(cluster.scheduler.drain(at(0))), std::string(gate ? row.answer : "default"));
    }
  }
}

TEST_CASE("flavors: pods that ask for a topology and for no resource wait too") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 8}}));
  Workload asking = workload("asking", "a");
  asking.pod_sets[0].asks_for_topology = true;
  cluster.scheduler.put(std::make_shared<const Workload>(asking), {{}}, at(0));
  CHECK(Cluster::told(cluster.scheduler.drain(at(0))) == "?asking:noFit");
}

TEST_CASE("flavors: one that asks for a topology does not hold back its like that asks for none") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 8}}));
  Workload asking = workload("asking", "a");
  asking.pod_sets[0].asks_for_topology = true;
  asking.pod_sets[0].topology_request_text = R"({"required":"rack"})";
  cluster.put(asking, 1);
  cluster.put(workload("plain", "a", 0, 10), 1);
  CHECK(cluster.drain() == "?asking:noFit +plain");
}

TEST_CASE("flavors: the number of pods is a resource where the queue covers it") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 100}});
  queue.resource_groups[0].covered_resources.push_back("pods");
  queue.resource_groups[0].flavors[0].resources.push_back(
      {.name = "pods", .nominal = Quantity::of(3), .borrowing_limit = {}, .lending_limit = {}});
  cluster.put(queue);
  Workload crowd = workload("crowd", "a");
  crowd.pod_sets[0].count = 4;
  cluster.put(crowd, 1);
  CHECK(answer(cluster.scheduler.drain(at(0))).find("insufficient quota for pods") != std::string::npos);
  crowd.pod_sets[0].count = 3;
  cluster.put(crowd, 1);
  CHECK(answer(cluster.scheduler.drain(at(0))) == "default");
  CHECK(test::usage_of(cluster.scheduler, "a", "default", "pods") == 3);
}

TEST_CASE("flavors: a Workload that may shrink is admitted with as many pods as fit") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 7}}));
  Workload elastic = workload("elastic", "a");
  elastic.pod_sets[0].count = 10;
  elastic.pod_sets[0].min_count = 2;
  cluster.put(elastic, 2);
  const std::vector<Decision> decisions = cluster.scheduler.drain(at(0));
  CHECK(std::get<Admitted>(decisions.at(0)).admission.pod_sets[0].count == 3);
}

TEST_CASE("flavors: the largest counts are found by halving and last pod sets shrink first") {
  Workload both = workload("both", "a");
  both.pod_sets.push_back(both.pod_sets[0]);
  both.pod_sets[0].count = both.pod_sets[1].count = 10;
  both.pod_sets[0].min_count = 4;
  both.pod_sets[1].min_count = 5;
  for (const int most : {20, 17, 15, 12, 9}) {
    INFO(most);
    std::vector<int32_t> best;
    int asked = 0;
    CHECK(largest_counts(both, [&](const std::vector<int32_t>& counts) {
      ++asked;
      if (counts[0] + counts[1] > most) return false;
      best = counts;
      return true;
    }));
    CHECK(best == std::vector<int32_t>{std::min(10, most - 5), most - std::min(10, most - 5)});
    CHECK(asked <= 5);
  }
  CHECK_FALSE(largest_counts(both, [](const std::vector<int32_t>&) { return false; }));
}

}  // namespace flavors_test
