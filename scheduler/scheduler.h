// Decides which Workloads get quota, on which flavors, and which Workloads are evicted for it.
//
// The Scheduler owns an account of all queues, flavors and Workloads (SchedulerState) that is updated by each event and
// never copied. QueueTable and WorkloadTable change it, WakeSet notes what must be evaluated again. One thread owns it;
// it reads no clock. It assumes its decisions at once; the caller writes them and reports:
//   Admitted   written: put() the object of the answer. Failed permanently: roll_back().
//   Preempted  the same: put() when the object says Evicted=True, or roll_back(). The victim's
//              quota stays taken until put() shows it without its reservation.
//   Pending    nothing to report; conditions that did not change need no write.
// A put() that lags behind an assumption (an older state of the object) does not undo it.
//
// cycle() is one turn: one head per ClusterQueue, in an order that is observably Kueue's. drain() repeats turns
// until no more change is possible; call it after every batch of events. A Cohort tree without events costs
// nothing. Workloads that were refused wait until a release, or a change of queues, flavors or limits, can help
// them.
//
// Whether all admitted pods are ready (waitForPodsReady.blockAdmission) is decided by the caller, who calls
// await_ready(). Evictions and refusals continue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/requests.h"
#include "base/clock.h"
#include "scheduler/capacity/further_capacity.h"
#include "scheduler/decision.h"
#include "scheduler/queue_table.h"
#include "scheduler/state.h"
#include "scheduler/wake_set.h"
#include "scheduler/workload_table.h"

namespace muster::scheduler {

class Scheduler {
 public:
  // `further`: what Workloads hold beside quota.
  explicit Scheduler(SchedulerSettings settings = {}, FurtherCapacities further = {});
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void put(const ClusterQueuePtr& queue);
  void remove_cluster_queue(const std::string& name);
  void put(const LocalQueuePtr& queue);
  void remove_local_queue(const std::string& ns, const std::string& name);
  void put(const CohortPtr& cohort);
  void remove_cohort(const std::string& name);
  void put(const ResourceFlavorPtr& flavor);
  void remove_resource_flavor(const std::string& name);
  // Only its existence and its Active condition matter.
  void put(const AdmissionCheckPtr& check);
  void remove_admission_check(const std::string& name);
  // A WorkloadPriorityClass: only its protection matters, since Workloads contain their priority.
  void put(const PriorityClassPtr& priority_class);
  void remove_workload_priority_class(const std::string& name);
  void put_namespace(const std::string& name, Labels labels);
  void remove_namespace(const std::string& name);

  // `pod_requests`: of one pod of each pod set, after LimitRanges, exclusions and transformations
  // (state/pod_requests.h). Everything else is read from the object. `misconfigured`: a sentence if it must not be
  // admitted with any quota (requests above limits, or against a LimitRange). Both can be empty while it holds
  // quota, and once it is finished. `can_be_stopped`: otherwise its quota counts, but it is no victim, since the
  // preemptor would wait forever; and if it is misconfigured as well it waits outside of its queue until its object
  // changes.
  void put(const WorkloadPtr& workload, const std::vector<Requests>& pod_requests, Now now,
           std::string misconfigured = {}, bool can_be_stopped = true) {
    workloads_.put(workload, pod_requests, now, std::move(misconfigured), can_be_stopped);
  }
  void remove_workload(const std::string& ns, const std::string& name) { workloads_.remove(ns, name); }

  // The write of an admission or an eviction failed: as if it had not been decided.
  void roll_back(const std::string& ns, const std::string& name, Now now) { workloads_.roll_back(ns, name, now); }
  // The same for all unconfirmed decisions: for a new and for a former leader.
  void roll_back_all(Now now) { workloads_.roll_back_all(now); }

  // A further capacity has more room: pending Workloads can wait for it.
  void further_released() { wake_.released_further(); }

  // No Workload is admitted before the pods of this Workload ("namespace/name") are ready; empty: no block.
  // With SchedulerSettings::one_by_one every admission blocks in this way until the next call. Blocked
  // Workloads go first, in the order of the cycle in which they were first blocked, so that borrowers are not
  // passed forever.
  void await_ready(const std::string& workload);

  // One turn of every ClusterQueue.
  std::vector<Decision> cycle(Now now);
  // Turns until no more changes follow. After a release it wakes only Workloads that the release can
  // help; a single turn wakes all parked Workloads of the tree, as Kueue does. Refusals are reported
  // only if they differ from the last one of their Workload, AwaitedVictim never. Begins no turn
  // once `enough` Workloads were admitted; the next call continues, with the first Workload at that
  // time.
  std::vector<Decision> drain(Now now, size_t enough = SIZE_MAX);

  // Processes the effects of events without decisions: on a follower this keeps numbers and positions
  // current.
  void follow(Now now);

  // For questions: explain_pending(), listing_of(), readings_of(), flavor_options(), and those of eligibility.h.
  const SchedulerState& state() const { return state_; }
  // The time of the next decision without an event: a protection from preemption ends. nullopt: only after
  // events.
  std::optional<MonotonicTime> next_wake() const;
  // The number of turns with at least one Workload to evaluate.
  uint64_t turns() const { return state_.cycle; }

  // After an exception in cycle(), drain() or follow(): the Workload in progress. The scheduler can be inconsistent
  // then, and must be rebuilt from the objects.
  struct Subject {
    WorkloadPtr workload;
    std::string cluster_queue;
  };
  std::optional<Subject> subject() const;

  // The Workloads ("namespace/name") that have left their queue, or whose queue became inactive, since the last call:
  // their last refusal is obsolete.
  std::vector<std::string> take_left() { return workloads_.take_left(); }

  // See QuotaIdTable: if so, every Workload is to be put again.
  bool take_late_names() { return state_.names.take_late_names(); }

 private:
  void point_local_queue(LocalQueueState& local, QueueState* queue);
  void prepare(Now now, bool only_what_it_helps);
  void refresh_activity();
  std::vector<Decision> turn(const std::vector<QueueState*>& queues, Now now, bool settle);

  SchedulerState state_;
  WakeSet wake_{state_.ledger};
  QueueTable queues_{state_, wake_};
  WorkloadTable workloads_{state_, queues_, wake_};
};

}  // namespace muster::scheduler
