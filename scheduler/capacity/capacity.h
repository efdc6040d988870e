// All that Workloads can hold: quota, in the trees of ClusterQueues and Cohorts, and further capacities.
//
// take() and give_back() change what is used; a claim is given back as it was taken. The tree changes by tree(), and
// queries about quota alone go to quota(). What-if questions run in place: see Simulation. One owner, no locks; it is
// not moved, since others refer to its ledger.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/capacity/claim.h"
#include "scheduler/capacity/further_capacity.h"
#include "scheduler/quota/ledger.h"

namespace muster::scheduler {

class Capacity {
 public:
  class Simulation;

  // `further` are asked in this order.
  explicit Capacity(const QuotaIdTable& names, FurtherCapacities further = {});
  Capacity(const Capacity&) = delete;
  Capacity& operator=(const Capacity&) = delete;

  const Ledger& quota() const { return ledger_; }
  // For changes of ClusterQueues and Cohorts. Usage changes by take() and give_back() only, except that a ClusterQueue
  // which gets an object counts the quota of its holders.
  Ledger& tree() { return ledger_; }

  // A ClusterQueue without an object (kNoNode) counts no quota.
  void take(NodeId queue, const Claim& claim);
  void give_back(NodeId queue, const Claim& claim);
  // Whether the ClusterQueue can use less now than the claim asks for.
  bool lacks(NodeId queue, const Claim& claim) const {
    return lacks_further(claim.further) || !ledger_.fits(queue, claim.quota);
  }
  bool lacks_further(const CapacityUses& uses) const;
  // What the ClusterQueue can still use of a quota, or all can of a unit of a further capacity; at least 0.
  int64_t available(NodeId queue, CapacityKey key) const;

  bool has_further() const { return !further_.empty(); }
  // The answers of all further capacities (FurtherCapacity::assign).
  struct Assigned {
    CapacityUses uses{};
    std::vector<Shortage> shortages{};  // empty: the uses are available
  };
  Assigned assign(const PodSetAsk& ask) const;
  // The same for a whole Workload, whose asks are in the order of its pod sets.
  struct AssignedAll {
    std::vector<CapacityUses> uses{};      // by pod set, up to the last one that is asked about
    std::vector<CapacityId> short_ones{};  // capacities with a shortage; empty: the uses are available
  };
  AssignedAll assign_all(const Workload& workload, const std::vector<FurtherAsk>& asks) const;
  void write(const CapacityUses& uses, PodSetAssignment& assignment) const;
  // See the functions of FurtherCapacity.
  CapacityUses held(const Workload& workload, const Admission& admission) const;
  std::string text_of(const Workload& workload, const PodSet& pod_set) const;

 private:
  struct Change {
    CapacityKey key;
    int64_t amount;
  };

  void add(CapacityKey key, int64_t amount);

  const QuotaIdTable& names_;
  Ledger ledger_;
  FurtherCapacities further_;  // CapacityId - 1 is the index
  std::vector<Change> log_;    // of further capacities, while simulations run
  int simulations_ = 0;
};

// Undoes every take() and give_back() since its start; simulations can be nested. The structure must not change during
// a simulation.
class Capacity::Simulation {
 public:
  explicit Simulation(Capacity& capacity)
      : capacity_(capacity), ledger_(capacity.ledger_), mark_(capacity.log_.size()) {
    ++capacity.simulations_;
  }
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

 private:
  Capacity& capacity_;
  Ledger::Simulation ledger_;
  size_t mark_;
};

}  // namespace muster::scheduler
