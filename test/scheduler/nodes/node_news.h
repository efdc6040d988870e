// Nodes and pods as watches report them.
#pragma once

#include <string>
#include <utility>

#include "scheduler/nodes/node_news.h"

namespace muster::test {

constexpr int64_t kGi = int64_t{1} << 30;

// A ready node of these cpus and GPUs, with room for 110 pods.
inline scheduler::NodeSeen node_of(const std::string& name, int64_t cpus, int64_t gpus = 0, Labels labels = {}) {
  Node node{.name = name,
            .labels = std::move(labels),
            .taints = {},
            .allocatable = {{"cpu", cpus * 1000}, {"memory", 64 * kGi}, {"pods", 110}},
            .ready = true};
  if (gpus > 0) node.allocatable["nvidia.com/gpu"] = gpus;
  return {std::move(node)};
}

// In the namespace of the tests (queue_objects.h).
inline scheduler::PodSeen pod_on(const std::string& node, const std::string& uid, Requests requests,
                                 const std::string& workload = {}, const std::string& pod_set = "main") {
  requests["pods"] = 1;
  return {{.uid = uid,
           .ns = "team-a",
           .node = node,
           .workload = workload,
           .pod_set = workload.empty() ? "" : pod_set,
           .requests = std::move(requests)}};
}

inline scheduler::PartGone pod_gone(const std::string& uid) {
  return {scheduler::NodePart::kPods, uid};
}

}  // namespace muster::test
