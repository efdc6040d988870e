#include "engine/loop/node_feed.h"

#include <exception>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"
#include "base/fnv.h"
#include "base/overloaded.h"

namespace muster::engine {
namespace {

using nlohmann::json;
using scheduler::NodeNews;
using scheduler::NodePart;

json to_json(const Node& node) {
  json taints = json::array();
  for (const Taint& taint : node.taints)
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  return {{"name", node.name},           {"labels", node.labels},
          {"taints", std::move(taints)}, {"allocatable", node.allocatable},
          {"ready", node.ready},         {"cordoned", node.cordoned}};
}

json to_json(const BoundPod& pod) {
  return {{"uid", pod.uid},        {"namespace", pod.ns},      {"node", pod.node},        {"workload", pod.workload},
          {"podSet", pod.pod_set}, {"requests", pod.requests}, {"deleting", pod.deleting}};
}

Requests amounts_in(const json& object) {
  Requests amounts;
  for (const auto& [name, amount] : object.items()) {
    if (amount.is_number_integer()) amounts[name] = amount.get<int64_t>();
  }
  return amounts;
}

Node node_in(const json& object) {
  return {.name = std::string(string_at(object, {"name"})),
          .labels = read_string_map(object_at(object, {"labels"})),
          .taints = read_taints(array_at(object, {"taints"})),
          .allocatable = amounts_in(object_at(object, {"allocatable"})),
          .ready = bool_at(object, {"ready"}),
          .cordoned = bool_at(object, {"cordoned"})};
}

BoundPod pod_in(const json& object) {
  return {.uid = std::string(string_at(object, {"uid"})),
          .ns = std::string(string_at(object, {"namespace"})),
          .node = std::string(string_at(object, {"node"})),
          .workload = std::string(string_at(object, {"workload"})),
          .pod_set = std::string(string_at(object, {"podSet"})),
          .requests = amounts_in(object_at(object, {"requests"})),
          .deleting = bool_at(object, {"deleting"})};
}

std::optional<NodePart> find_part(std::string_view name) {
  for (const NodePart part : {NodePart::kNodes, NodePart::kPods}) {
    if (to_text(part) == name) return part;
  }
  return std::nullopt;
}

}  // namespace

json to_json(const NodeNews& news) {
  const auto of = [](const char* what, NodePart part) { return json{{what, to_text(part)}}; };
  return std::visit(Overloaded{
                        [&](const scheduler::PartListing& listing) { return of("listing", listing.part); },
                        [&](const scheduler::PartListed& listed) { return of("listed", listed.part); },
                        [](const scheduler::NodeSeen& seen) {
                          return json{{"node", to_json(seen.node)}};
                        },
                        [](const scheduler::PodSeen& seen) {
                          return json{{"pod", to_json(seen.pod)}};
                        },
                        [](const scheduler::PartGone& gone) {
                          return json{{"gone", to_text(gone.part)}, {"key", gone.key}};
                        },
                        [](const scheduler::PartCaughtUp& caught_up) {
                          return json{{"caughtUp", to_text(caught_up.part)}, {"term", caught_up.term}};
                        },
                    },
                    news);
}

Result<NodeNews> read_node_news(const json& object) {
  if (object.contains("node")) return NodeNews(scheduler::NodeSeen{node_in(object_at(object, {"node"}))});
  if (object.contains("pod")) return NodeNews(scheduler::PodSeen{pod_in(object_at(object, {"pod"}))});
  if (const auto part = find_part(string_at(object, {"listing"}))) return NodeNews(scheduler::PartListing{*part});
  if (const auto part = find_part(string_at(object, {"listed"}))) return NodeNews(scheduler::PartListed{*part});
  if (const auto part = find_part(string_at(object, {"gone"})))
    return NodeNews(scheduler::PartGone{*part, std::string(string_at(object, {"key"}))});
  if (const auto part = find_part(string_at(object, {"caughtUp"}))) {
    const int64_t term = int_at(object, {"term"}).value_or(0);
    return NodeNews(scheduler::PartCaughtUp{*part, static_cast<uint64_t>(std::max<int64_t>(term, 0))});
  }
  return fail("it is no news of nodes that this muster knows");
}

ObjectTexts texts_of(const NodeNews& news) {
  return std::make_shared<const std::vector<std::string>>(1, muster::to_text(to_json(news)));
}

NodesObserved NodeFeed::observed(NodeNews news) const {
  ObjectTexts texts = recorded_ ? texts_of(news) : nullptr;
  return {std::move(news), std::move(texts)};
}

NodesObserved NodeFeed::begin_list() {
  listing_ = true;
  known_.clear();
  return observed(scheduler::PartListing{part_});
}

NodesObserved NodeFeed::end_list() {
  listing_ = false;
  return observed(scheduler::PartListed{part_});
}

std::optional<NodesObserved> NodeFeed::gone(const std::string& key) {
  if (known_.erase(fnv1a_64(key)) == 0) return std::nullopt;
  return observed(scheduler::PartGone{part_, key});
}

Result<std::optional<NodesObserved>, Breakage> NodeFeed::seen(const json& object) {
  using Seen = std::optional<NodesObserved>;
  const bool nodes = part_ == NodePart::kNodes;
  try {
    std::string key, text;
    NodeNews news;
    if (nodes) {
      Node node = read_node(object);
      key = node.name;
      text = muster::to_text(to_json(node));
      news = scheduler::NodeSeen{std::move(node)};
    } else {
      std::optional<BoundPod> pod = read_bound_pod(object);
      if (!pod) return Seen(gone(std::string(string_at(object, {"metadata", "uid"}))));
      key = pod->uid;
      text = muster::to_text(to_json(*pod));
      news = scheduler::PodSeen{*std::move(pod)};
    }
    // A list brings all, since what it does not bring is gone.
    const auto [known, is_new] = known_.try_emplace(fnv1a_64(key), 0);
    if (std::exchange(known->second, fnv1a_64(text)) == fnv1a_64(text) && !is_new && !listing_) return Seen();
    return Seen(observed(std::move(news)));
  } catch (const std::exception& thrown) {
    const ObjectKey key{nodes ? &kNodes : &kPods, std::string(string_at(object, {"metadata", "namespace"})),
                        std::string(string_at(object, {"metadata", "name"}))};
    return fail_with(describe(key, Broke::kState, "reading an object", thrown));
  }
}

std::optional<NodesObserved> NodeFeed::removed(const json& object) {
  return gone(std::string(string_at(object, {"metadata", part_ == NodePart::kNodes ? "name" : "uid"})));
}

NodesObserved NodeFeed::caught_up(uint64_t term) const {
  return observed(scheduler::PartCaughtUp{part_, term});
}

}  // namespace muster::engine
