#include "engine/loop/node_feed.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace node_feed_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;
using scheduler::NodePart;

namespace {

json node_object(const char* cpu = "4") {
  return {{"metadata", {{"name", "a"}, {"labels", {{"pool", "x"}}}}},
          {"spec", {{"taints", json::array({{{"key", "spot"}, {"effect", "NoSchedule"}}})}}},
          {"status",
           {{"allocatable", {{"cpu", cpu}, {"pods", "110"}}},
            {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
}

json pod_object() {
  return {{"metadata",
           {{"name", "p"},
            {"namespace", "team-a"},
            {"uid", "u1"},
            {"labels", {{"kueue.x-k8s.io/podset", "main"}}},
            {"annotations", {{"kueue.x-k8s.io/workload", "train"}}}}},
          {"spec",
           {{"nodeName", "a"},
            {"containers", json::array({{{"name", "c"}, {"resources", {{"requests", {{"cpu", "500m"}}}}}}})}}},
          {"status", {{"phase", "Running"}}}};
}

template <class T>
const T* news_in(const Result<std::optional<NodesObserved>, Breakage>& seen) {
  REQUIRE(seen.ok());
  return *seen ? std::get_if<T>(&(*seen)->news) : nullptr;
}

}  // namespace

TEST_CASE("node feed: a heartbeat is no news, a change of room is") {
  NodeFeed feed(NodePart::kNodes, false);
  const auto first = feed.seen(node_object());
  const auto* node = news_in<scheduler::NodeSeen>(first);
  REQUIRE(node != nullptr);
  CHECK(node->node.ready);
  CHECK(node->node.allocatable.at("cpu") == 4000);
  CHECK(node->node.taints.size() == 1);
  json beat = node_object();
  beat["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T12:00:00Z";
  CHECK(news_in<scheduler::NodeSeen>(feed.seen(beat)) == nullptr);
  CHECK(news_in<scheduler::NodeSeen>(feed.seen(node_object("8"))) != nullptr);
  // A list brings all.
  feed.begin_list();
  CHECK(news_in<scheduler::NodeSeen>(feed.seen(node_object("8"))) != nullptr);
  feed.end_list();
  CHECK(news_in<scheduler::NodeSeen>(feed.seen(node_object("8"))) == nullptr);
  CHECK(feed.removed(node_object()).has_value());
  CHECK_FALSE(feed.removed(node_object()).has_value());
}

TEST_CASE("node feed: a pod counts from its node to its end") {
  NodeFeed feed(NodePart::kPods, false);
  json pod = pod_object();
  pod["spec"].erase("nodeName");
  CHECK(news_in<scheduler::PodSeen>(feed.seen(pod)) == nullptr);
  const auto seen = feed.seen(pod_object());
  const auto* bound = news_in<scheduler::PodSeen>(seen);
  REQUIRE(bound != nullptr);
  CHECK(bound->pod == BoundPod{.uid = "u1",
                               .ns = "team-a",
                               .node = "a",
                               .workload = "train",
                               .pod_set = "main",
                               .requests = {{"cpu", 500}, {"pods", 1}}});
  pod = pod_object();
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
  const auto deleted = feed.seen(pod);
  REQUIRE(news_in<scheduler::PodSeen>(deleted) != nullptr);
  CHECK(news_in<scheduler::PodSeen>(deleted)->pod.deleting);
  pod["status"]["phase"] = "Succeeded";
  const auto ended = feed.seen(pod);
  const auto* gone = news_in<scheduler::PartGone>(ended);
  REQUIRE(gone != nullptr);
  CHECK(gone->key == "u1");
  CHECK_FALSE(feed.removed(pod).has_value());
}

TEST_CASE("node feed: every piece of news is read again as it was recorded") {
  NodeFeed nodes(NodePart::kNodes, true), pods(NodePart::kPods, true);
  const auto node = nodes.seen(node_object());
  const auto pod = pods.seen(pod_object());
  const NodesObserved removed = *pods.removed(pod_object());
  const NodesObserved all[] = {nodes.begin_list(), **node, nodes.end_list(), pods.begin_list(), **pod,
                               pods.caught_up(7),  removed};
  for (const NodesObserved& each : all) {
    REQUIRE(each.texts != nullptr);
    const auto parsed = parse_json(each.texts->front());
    REQUIRE(parsed.ok());
    const auto read = read_node_news(*parsed);
    REQUIRE(read.ok());
    CHECK(to_json(*read) == *parsed);
    CHECK(read->index() == each.news.index());
  }
  CHECK_FALSE(read_node_news({{"listing", "pets"}}).ok());
}

}  // namespace node_feed_test
