// Room on nodes as a capacity (scheduler/capacity/further_capacity.h), for flavors with the annotation
// muster.batch/fit-on-nodes: a pod set gets such a flavor only if all of its pods have room on the flavor's nodes now.
//
// A Workload with quota holds, per pod set: what its pods take on the nodes that they have, and for the others a place
// on nodes with room. The places are muster's: kube-scheduler chooses by itself, and what it has chosen replaces them.
// What is free on a node is what it can give, without all pods there and without all places.
//
// Not modelled: host ports, volumes, anti-affinity and spreading between pods, claims of devices. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta/object_pointers.h"
#include "scheduler/capacity/further_capacity.h"
#include "scheduler/nodes/node_table.h"

namespace muster {

struct PodSpec;
struct ResourceFlavor;

}  // namespace muster

namespace muster::scheduler {

class NodeCapacity final : public FurtherCapacity {
 public:
  // What a node must have free for one pod of the pod set.
  using PodRequestsOf = std::function<Requests(const Workload&, const PodSet&)>;

  // `table` must outlive it.
  NodeCapacity(NodeTable& table, PodRequestsOf pod_requests_of)
      : table_(table), pod_requests_of_(std::move(pod_requests_of)) {}

  // Whether another answer of held() is possible for Workloads on this flavor.
  bool put(const ResourceFlavorPtr& flavor);
  bool remove_flavor(const std::string& name);
  // Before the scheduler gets this version of the Workload, or once it is gone.
  void put(const Workload& workload);
  void remove_workload(const std::string& path);
  // The Workload holds quota on a flavor that counts nodes.
  bool knows(const std::string& path) const { return bound_.contains(path); }

  CapacityAnswer assign(const PodSetAsk& ask) const override;
  CapacityUses held(const Workload& workload, const Admission& admission) const override;
  std::string text_of(const Workload& workload, const PodSet& pod_set) const override;
  int64_t available(uint32_t unit) const override;
  void add(uint32_t unit, int64_t amount) override;

  // What is taken on nodes by pods that are in no claim. nullopt: no flavor counts nodes, or they are not known.
  std::optional<NodeLoads> loads() const;
  // Workloads ("namespace/name") with a place that is lost, or a pod without one: to be put again, so that they are
  // held before others get what is free.
  std::vector<std::string> misplaced() const;
  // No pod and no place is on the node.
  bool is_unused(uint32_t row) const;

 private:
  // The nodes of a flavor on which pods with this spec can be, whatever their room.
  struct Suited {
    std::vector<uint32_t> rows{};
    // Of the nodes with the labels of the flavor, the others: by why.
    size_t labelled = 0, excluded = 0, tainted = 0, closed = 0;
  };
  struct SuitedAt {
    uint64_t version = 0;  // of the table; 0: not asked yet
    Suited suited{};
  };
  using Taken = std::vector<std::vector<int64_t>>;  // by row and resource
  // Of the pods of a Workload that have no node.
  struct Places {
    CapacityUses uses{};
    uint64_t version = 0;  // of the table
    bool complete = true;
  };

  const ResourceFlavor* flavor_of(const PodSetAssignment& assignment) const;
  const std::string& selection_of(const PodSpec& spec) const;
  const Suited& suited(const PodSpecPtr& spec, const ResourceFlavor& flavor) const;
  NodeNeeds needs_of(const Workload& workload, const PodSet& pod_set) const;
  int64_t free(uint32_t row, uint32_t resource) const;
  // Pods that fit, at most `most`.
  int64_t seats(uint32_t row, const NodeNeeds& needs, const CapacityUses& earlier, int64_t most) const;
  // Places for `count` pods, the nodes with the most room first. Returns the pods that have none.
  int64_t place(const Suited& suited, const NodeNeeds& needs, int64_t count, const CapacityUses& earlier,
                CapacityUses& uses) const;
  void add_pods(uint32_t row, const NodeNeeds& needs, int64_t count, CapacityUses& uses) const;
  Shortage shortage(std::string why, std::string change) const;
  Shortage shortage_of(const PodSetAsk& ask, const Suited& suited, const NodeNeeds& needs, int64_t left) const;
  void change_bound(const std::string& path, CapacityUses uses);

  NodeTable& table_;
  const PodRequestsOf pod_requests_of_;
  std::map<std::string, ResourceFlavorPtr, std::less<>> flavors_;  // that count nodes
  Taken used_;                                                     // by claims
  Taken inside_;                                            // by pods that are in a claim, which the table counts too
  std::map<std::string, CapacityUses, std::less<>> bound_;  // of Workloads with quota: their pods; by "namespace/name"
  // What pod specs say of their nodes, by their texts. Many say the same.
  mutable std::map<std::string, std::string, std::less<>> selections_;
  mutable std::map<std::string, Places, std::less<>> places_;               // as last held, by "namespace/name"
  mutable std::map<std::pair<std::string, std::string>, SuitedAt> suited_;  // by selection and flavor
};

}  // namespace muster::scheduler
