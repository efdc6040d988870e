// What the watches of nodes, and of the pods on them, tell the scheduler, in the order of the API server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "api/nodes/bound_pod.h"
#include "api/nodes/node.h"

namespace muster::scheduler {

enum class NodePart { kNodes, kPods };
// "nodes", "pods".
constexpr std::string_view to_text(NodePart part) {
  return part == NodePart::kNodes ? "nodes" : "pods";
}

// A complete list begins. It can begin again before it has ended.
struct PartListing {
  NodePart part;
};
// It has ended: what it did not bring is gone.
struct PartListed {
  NodePart part;
};
struct NodeSeen {
  Node node;
};
struct PodSeen {
  BoundPod pod;
};
struct PartGone {
  NodePart part;
  std::string key;  // a node's name, a pod's uid
};
// All that the API server held when `term` began was reported.
struct PartCaughtUp {
  NodePart part;
  uint64_t term;
};

using NodeNews = std::variant<PartListing, PartListed, NodeSeen, PodSeen, PartGone, PartCaughtUp>;

}  // namespace muster::scheduler
