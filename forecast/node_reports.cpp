#include "forecast/node_reports.h"

namespace muster::forecast {
namespace {

// No pod of a cluster has such a uid.
std::string uid_of(const NodeReports::Owner& owner, int64_t number) {
  return owner.ns + "/" + owner.workload + "/" + owner.pod_set + "/" + std::to_string(number);
}

}  // namespace

NodeReports::NodeReports(const std::vector<NodeGroup>& nodes, scheduler::NodeTable& table)
    : nodes_(nodes), table_(table) {
  uint64_t first = 0;
  for (const NodeGroup& group : nodes) {
    for (uint64_t number = 0; number < group.count; ++number)
      table.take(scheduler::NodeSeen{{.name = name_of(first + number),
                                      .labels = group.labels,
                                      .taints = group.taints,
                                      .allocatable = group.allocatable,
                                      .ready = true}});
    for (const auto& [number, used] : group.used) {
      const std::string node = name_of(first + number);
      table.take(scheduler::PodSeen{{.uid = "on/" + node, .ns = "", .node = node, .requests = used}});
    }
    first += group.count;
  }
  for (const scheduler::NodePart part : {scheduler::NodePart::kNodes, scheduler::NodePart::kPods})
    table.take(scheduler::PartListed{part});
}

// The name of a node where pods ask for nodes by name; the others are numbered, as no node of a cluster is.
std::string NodeReports::name_of(uint64_t node) const {
  for (const NodeGroup& group : nodes_) {
    if (node >= group.count) {
      node -= group.count;
      continue;
    }
    if (!group.flavor.empty()) return "flavor/" + group.flavor + "/" + std::to_string(node);
    return node == 0 ? group.name : group.name + "/" + std::to_string(node);
  }
  return "";
}

void NodeReports::placed(const Owner& owner, int64_t before, const std::vector<Seats>& seats,
                         const Requests& requests) {
  // Seats are in the order in which the pods got them.
  int64_t number = 0;
  for (const Seats& seat : seats) {
    for (uint64_t node = seat.nodes.first; node < seat.nodes.end; ++node) {
      for (int64_t i = 0; i < seat.pods_each; ++i, ++number) {
        if (number < before) continue;
        table_.take(scheduler::PodSeen{{.uid = uid_of(owner, number),
                                        .ns = owner.ns,
                                        .node = name_of(node),
                                        .workload = owner.workload,
                                        .pod_set = owner.pod_set,
                                        .requests = requests}});
      }
    }
  }
}

void NodeReports::left(const Owner& owner, int64_t pods) {
  for (int64_t number = 0; number < pods; ++number)
    table_.take(scheduler::PartGone{scheduler::NodePart::kPods, uid_of(owner, number)});
}

}  // namespace muster::forecast
