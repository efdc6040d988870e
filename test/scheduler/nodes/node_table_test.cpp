#include "scheduler/nodes/node_table.h"

#include <doctest/doctest.h>

#include "test/scheduler/nodes/node_news.h"

namespace node_table_test {

using namespace muster;
using namespace muster::scheduler;
using namespace muster::test;

namespace {

constexpr NodePart kNodePart = NodePart::kNodes, kPodPart = NodePart::kPods;

const NodeTable::Row* find(const NodeTable& table, const std::string& name) {
  for (const NodeTable::Row& row : table.rows()) {
    if (row.node != nullptr && row.node->name == name) return &row;
  }
  return nullptr;
}

int64_t taken(NodeTable& table, const std::string& node, const char* resource) {
  const NodeTable::Row* row = find(table, node);
  REQUIRE(row != nullptr);
  const uint32_t number = table.resource(resource);
  return number < row->taken.size() ? row->taken[number] : 0;
}

}  // namespace

TEST_CASE("node table: pods are counted on their nodes, in every order of news") {
  NodeTable table;
  table.take(pod_on("a", "1", {{"cpu", 500}}));
  table.take(node_of("a", 4));
  table.take(pod_on("a", "2", {{"cpu", 1000}, {"nvidia.com/gpu", 2}}));
  CHECK(taken(table, "a", "cpu") == 1500);
  CHECK(taken(table, "a", "pods") == 2);
  CHECK(taken(table, "a", "nvidia.com/gpu") == 2);
  // Resized in place, and seen on another node, as after a list that was missed.
  table.take(pod_on("a", "1", {{"cpu", 700}}));
  table.take(pod_on("b", "2", {{"cpu", 1000}}));
  CHECK(taken(table, "a", "cpu") == 700);
  CHECK(taken(table, "b", "cpu") == 1000);
  table.take(pod_gone("1"));
  table.take(pod_gone("1"));
  CHECK(taken(table, "a", "cpu") == 0);
  CHECK(table.pods() == 1);
}

TEST_CASE("node table: both parts are to be listed, and to catch up with the term") {
  NodeTable table;
  CHECK(table.unknown() == "nodes");
  table.take(PartListing{kNodePart});
  table.take(PartListed{kNodePart});
  CHECK(table.unknown() == "pods");
  table.take(PartListing{kPodPart});
  table.take(PartListed{kPodPart});
  CHECK(table.unknown().empty());
  table.await(3);
  CHECK(table.unknown() == "nodes");
  table.take(PartCaughtUp{kNodePart, 3});
  table.take(PartCaughtUp{kPodPart, 2});
  CHECK(table.unknown() == "pods");
  table.take(PartCaughtUp{kPodPart, 3});
  CHECK(table.unknown().empty());
}

TEST_CASE("node table: what a list does not bring is gone, also after a list that began twice") {
  NodeTable table;
  table.take(node_of("a", 4));
  table.take(node_of("b", 4));
  table.take(pod_on("a", "1", {{"cpu", 1000}}));
  table.take(pod_on("b", "2", {{"cpu", 1000}}));
  for (const NodePart part : {kNodePart, kPodPart}) table.take(PartListing{part});
  table.take(node_of("a", 4));
  table.take(pod_on("a", "1", {{"cpu", 1000}}));
  for (const NodePart part : {kNodePart, kPodPart}) table.take(PartListing{part});
  table.take(node_of("b", 4));
  table.take(pod_on("b", "2", {{"cpu", 1000}}));
  CHECK(find(table, "a")->there);
  CHECK(table.pods() == 2);
  for (const NodePart part : {kNodePart, kPodPart}) table.take(PartListed{part});
  CHECK_FALSE(find(table, "a")->there);
  CHECK(find(table, "b")->there);
  CHECK(table.pods() == 1);
  CHECK(taken(table, "b", "cpu") == 1000);
}

TEST_CASE("node table: pods of a Workload are found until they are deleted") {
  NodeTable table;
  table.take(pod_on("a", "1", {{"cpu", 1000}}, "train"));
  table.take(pod_on("b", "2", {{"cpu", 1000}}, "train"));
  table.take(pod_on("b", "3", {{"cpu", 1000}}, "train", "driver"));
  table.take(pod_on("b", "4", {{"cpu", 1000}}));
  CHECK(table.members("team-a", "train", "main").size() == 2);
  CHECK(table.members("team-a", "train", "driver").size() == 1);
  CHECK(table.members("team-b", "train", "main").empty());
  CHECK(table.take_touched() == std::set<std::string>{"team-a/train"});
  PodSeen deleted = pod_on("a", "1", {{"cpu", 1000}}, "train");
  deleted.pod.deleting = true;
  table.take(deleted);
  CHECK(table.members("team-a", "train", "main").size() == 1);
  CHECK(taken(table, "a", "cpu") == 1000);
  CHECK(table.take_touched() == std::set<std::string>{"team-a/train"});
  table.take(pod_gone("4"));
  CHECK(table.take_touched().empty());
}

TEST_CASE("node table: readiness, labels and taints change the version; room does not") {
  NodeTable table;
  NodeSeen node = node_of("a", 4);
  table.take(node);
  const uint64_t version = table.version();
  node.node.allocatable["cpu"] = 8000;
  table.take(node);
  table.take(pod_on("a", "1", {{"cpu", 1000}}));
  CHECK(table.version() == version);
  node.node.cordoned = true;
  table.take(node);
  CHECK(table.version() == version + 1);
  node.node.taints = {{"a", "", "NoSchedule"}};
  table.take(node);
  CHECK(table.version() == version + 2);
  table.take(PartGone{kNodePart, "a"});
  table.take(PartGone{kNodePart, "a"});
  CHECK(table.version() == version + 3);
}

TEST_CASE("node table: rows of nodes that are gone are used again, but not under pods and places") {
  NodeTable table;
  for (const char* name : {"a", "b", "c"}) table.take(node_of(name, 4));
  table.take(pod_on("a", "1", {{"cpu", 1000}}));
  for (const char* name : {"a", "b", "c"}) table.take(PartGone{kNodePart, name});
  CHECK(table.gone() == 3);
  table.recycle([&](uint32_t row) { return table.rows()[row].node->name != "b"; });
  CHECK(table.gone() == 2);
  table.take(node_of("d", 4));
  CHECK(table.rows().size() == 3);
  // It comes back under its name, where its pod is.
  table.take(node_of("a", 4));
  CHECK(taken(table, "a", "cpu") == 1000);
  CHECK(table.gone() == 1);
}

TEST_CASE("node table: amounts that no node has fit on none, and their sums are no overflow") {
  NodeTable table;
  NodeSeen node = node_of("a", 4);
  node.node.allocatable["cpu"] = INT64_MAX;
  table.take(node);
  const NodeNeeds needs = table.needs_of({{"cpu", INT64_MAX}});
  REQUIRE(needs.size() == 1);
  CHECK(needs[0].amount > find(table, "a")->allocatable[needs[0].resource]);
  for (int i = 0; i < 1000; ++i) table.take(pod_on("a", std::to_string(i), {{"cpu", INT64_MAX}}));
  CHECK(taken(table, "a", "cpu") == 1000 * kMostOnNode);
  for (int i = 0; i < 1000; ++i) table.take(pod_gone(std::to_string(i)));
  CHECK(taken(table, "a", "cpu") == 0);
}

TEST_CASE("node table: a resource beyond the number of those that are counted is on no node") {
  NodeTable table;
  for (int i = 0; i < 300; ++i) table.resource("example.com/r" + std::to_string(i));
  CHECK(table.resource("example.com/r299") == kUncountedResource);
  NodeSeen node = node_of("a", 4);
  node.node.allocatable["example.com/r299"] = 5;
  table.take(node);
  CHECK(find(table, "a")->allocatable.size() <= kUncountedResource);
  CHECK(table.needs_of({{"example.com/r299", 1}}) == NodeNeeds{{kUncountedResource, 1}});
}

}  // namespace node_table_test
