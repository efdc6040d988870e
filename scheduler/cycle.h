// One scheduling cycle: at most one Workload of each ClusterQueue is nominated, all of them against the
// same state, then they are processed one after the other, and each sees the quota that the earlier ones
// took. The order: nearest quota first, then priority, then time; with fair sharing, a tournament per
// Cohort tree.
//
// While a Workload waits for its victims, their quota is reserved for it within the cycle. No other
// Workload gets this quota before the victims have left: Kueue admits a later Workload that fits only
// without the victims, muster defers it. Source: Kueue KEPs 83, 1714 and the order of decisions of its
// scheduler.
#pragma once

#include <vector>

#include "base/clock.h"
#include "scheduler/capacity/claim.h"
#include "scheduler/decision.h"
#include "scheduler/eligibility.h"
#include "scheduler/flavor_assignment.h"
#include "scheduler/preemption/preemption.h"
#include "scheduler/state.h"

namespace muster::scheduler {

// One head, before and after its processing.
struct CycleEntry {
  WorkloadState* workload;
  Placement placement{};
  std::vector<Victim> victims{};
  Spared spared{};        // victims that cannot be preempted yet
  LastAttempt refusal{};  // unless it was admitted
  bool admitted = false;
  bool evicted = false;        // a victim was evicted for it just now
  bool until_changed = false;  // of an invalid one
};

class Cycle {
 public:
  // `only_news`: no message is built for a refusal that repeats the last one.
  Cycle(SchedulerState& state, Now now, bool only_news) : state_(state), now_(now), only_news_(only_news) {}

  // The first of its queue. run() leaves it there, parks it, or moves it into its reservation.
  void add(WorkloadState& head) { entries_.push_back({&head}); }
  void add_invalid(WorkloadState& head, Invalid why);
  std::vector<Decision> run();
  // The changes of run(): admissions, evictions, results of the heads.
  const std::vector<CycleEntry>& entries() const { return entries_; }

 private:
  void nominate(CycleEntry& entry) const;
  void find_placement(CycleEntry& entry) const;
  std::vector<FurtherAsk> asks_of(const Placement& placement) const;
  void assign_without_victims(CycleEntry& entry) const;
  void assign_again(CycleEntry& entry) const;
  void process_in_order();
  void process_fairly();
  void process(CycleEntry& entry);
  void recompute(CycleEntry& entry);
  bool overlaps(const CycleEntry& entry) const;
  bool fits_without_victims(const CycleEntry& entry);
  bool fits_beside_victims(const CycleEntry& entry);
  void hold(const CycleEntry& entry, Claim claim);
  Claim claim_to_reserve(const CycleEntry& entry) const;
  void refuse(CycleEntry& entry, AttemptResult outcome, PendingReason reason);
  void await_protected(CycleEntry& entry);
  void preempt(CycleEntry& entry);
  void admit(CycleEntry& entry);
  void await_wake_conditions(const WorkloadState& workload);
  void requeue(CycleEntry& entry);

  SchedulerState& state_;
  Now now_;
  bool only_news_;
  std::vector<CycleEntry> entries_;
  std::vector<CycleEntry> invalid_;
  std::vector<WorkloadState*> leaving_;  // victims of the entries so far
  // Reserved until the end of the cycle.
  struct Held {
    NodeId queue;
    Claim claim;
  };
  std::vector<Held> held_;
  std::vector<Decision> decisions_;
};

}  // namespace muster::scheduler
