// What a watch of nodes, or of the pods on them, tells, as events of the engine: values instead of objects, and none
// for a change that leaves the value as it is, as the heartbeats of kubelets do.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "engine/events.h"

namespace muster::engine {

// Pods that take something on a node. For the API server, which then sends no others.
inline constexpr std::string_view kBoundPods = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";

// One watch. Not thread-safe.
class NodeFeed {
 public:
  // `recorded`: the events get the texts of their news.
  NodeFeed(scheduler::NodePart part, bool recorded) : part_(part), recorded_(recorded) {}

  NodesObserved begin_list();
  NodesObserved end_list();
  // An object of a list or of a change; nullopt: nothing new.
  Result<std::optional<NodesObserved>, Breakage> seen(const nlohmann::json& object);
  std::optional<NodesObserved> removed(const nlohmann::json& object);
  NodesObserved caught_up(uint64_t term) const;

 private:
  NodesObserved observed(scheduler::NodeNews news) const;
  std::optional<NodesObserved> gone(const std::string& key);

  const scheduler::NodePart part_;
  const bool recorded_;
  bool listing_ = false;
  std::unordered_map<uint64_t, uint64_t> known_;  // a hash of each value, by that of its key
};

// The text of an event, for recordings.
ObjectTexts texts_of(const scheduler::NodeNews& news);
// One piece of news as JSON, and back: for recordings.
nlohmann::json to_json(const scheduler::NodeNews& news);
Result<scheduler::NodeNews> read_node_news(const nlohmann::json& object);

}  // namespace muster::engine
