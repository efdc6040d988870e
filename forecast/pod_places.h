// Which pods of admitted Workloads have a node. A pod gets the first node that kube-scheduler's filters let it have:
// its node selector with the labels of its flavors, its required node affinity, taints, and requests of all resources.
// Pods that find none wait, as pods that are Unschedulable do, in the order of their admissions; others pass them where
// they fit. No pod is preempted by another one, and none moves.
//
// The nodes of a flavor are those that its annotation counts, or those of Scenario::nodes that carry its labels; a
// flavor without any is not limited by nodes. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "api/cluster_queue.h"
#include "api/workload.h"
#include "forecast/history.h"
#include "forecast/node_reports.h"
#include "forecast/node_room.h"
#include "forecast/scenario.h"
#include "state/cluster_state.h"

namespace muster::forecast {

class PodPlaces {
 public:
  // All must outlive it. `state` has the flavors, LimitRanges and RuntimeClasses when pods enter. `reports` gets
  // the pods that have a node; null: none is asked for.
  PodPlaces(const Scenario& scenario, const state::ClusterState& state, UsageTracks& usage, NodeReports* reports);

  // The pods of an admitted Workload come. True: none of them waits for a node.
  bool enter(uint32_t job, const Workload& workload, int64_t now);
  // Those of its pods that wait for a node do so no more. Their number.
  int64_t drop_waiting(uint32_t job, int64_t now);
  // Its pods are gone.
  void leave(uint32_t job, int64_t now);
  // Gives nodes that have become free to pods that wait. Jobs whose pods all have a node now, in the order of their
  // admissions.
  std::vector<uint32_t> fill(int64_t now);

  // By admission.
  std::vector<WithoutNode> without_node() const;

 private:
  struct Group {
    NodeRange range;
    const NodeGroup* nodes;
  };
  // Pods that can have the same nodes and ask for the same.
  struct Sort {
    PodSpecPtr spec;  // keeps the key of sorts_ alive
    bool limited = false;
    Requests requests{};
    Needs needs{};
    std::vector<NodeRange> ranges{};
    std::vector<size_t> slots{};  // of usage, as `needs`; kNoSlot: it is not shown
    uint64_t unmatched = 0, untolerated = 0;
  };
  struct Pods {
    const Sort* sort;
    NodeReports::Owner owner;
    int64_t wanted = 0, placed = 0;
    std::vector<Seats> seats{};
  };
  struct Tenant {
    uint64_t turn = 0;
    size_t waits = 0;  // of `pods`
    std::vector<Pods> pods{};
  };
  using Place = std::pair<uint64_t, size_t>;  // turn, and number among the tenant's pods

  const Sort& sort_of(const Workload& workload, size_t pod_set, const PodSetAssignment* assignment);
  void choose_nodes(Sort& sort, const std::vector<ResourceFlavorPtr>& flavors) const;
  std::vector<ResourceFlavorPtr> flavors_of(const PodSetAssignment* assignment) const;
  size_t resource(const std::string& name);
  Amounts amounts_of(const Requests& requests);
  // True: all of them have a node.
  bool place(Pods& pods, int64_t now);
  void count(const Sort& sort, int64_t pods, int64_t now);
  std::string why(const Sort& sort) const;

  const Scenario& scenario_;
  const state::ClusterState& state_;
  UsageTracks& usage_;
  NodeReports* const reports_;
  NodeRoom room_;
  std::vector<Group> groups_;
  uint64_t nodes_ = 0;
  std::vector<std::string> resources_;
  std::map<std::string, size_t> resource_numbers_;
  // By template, namespace and flavors.
  std::map<std::tuple<const PodSpec*, std::string, std::string>, std::unique_ptr<Sort>> sorts_;
  std::unordered_map<uint32_t, Tenant> tenants_;
  std::unordered_map<const Sort*, std::map<Place, uint32_t>> waiting_;
  uint64_t turn_ = 0;
  bool freed_ = false;
};

}  // namespace muster::forecast
