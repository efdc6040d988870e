// All that Workloads can hold: quota, in the trees of ClusterQueues and Cohorts.
//
// take() and give_back() change what is used; a claim is given back as it was taken. The tree changes by tree(), and
// queries about quota alone go to quota(). What-if questions run in place: see Simulation. One owner, no locks; it is
// not moved, since others refer to its ledger.
#pragma once

#include <cstdint>

#include "scheduler/capacity/claim.h"
#include "scheduler/quota/ledger.h"

namespace muster::scheduler {

class Capacity {
 public:
  class Simulation;

  explicit Capacity(const QuotaIdTable& names) : ledger_(names) {}
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
  bool lacks(NodeId queue, const Claim& claim) const { return !ledger_.fits(queue, claim.quota); }
  // What the ClusterQueue can still use of a quota; 0 when it is over its limit.
  int64_t available(NodeId queue, CapacityKey key) const { return ledger_.available(queue, key.unit); }

 private:
  Ledger ledger_;
};

// Undoes every take() and give_back() since its start; simulations can be nested. The structure must not change during
// a simulation.
class Capacity::Simulation {
 public:
  explicit Simulation(Capacity& capacity) : ledger_(capacity.ledger_) {}

 private:
  Ledger::Simulation ledger_;
};

}  // namespace muster::scheduler
