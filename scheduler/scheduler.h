// Decides which Workloads get quota, on which flavors, and which Workloads are evicted for it.
//
// The Scheduler owns an account of all queues, flavors and Workloads that is updated by each event and never
// copied. One thread owns it; it reads no clock. It assumes its decisions at once; the caller writes them and
// reports:
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
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/requests.h"
#include "base/clock.h"
#include "scheduler/cycle.h"
#include "scheduler/decision.h"
#include "scheduler/dirty_trees.h"
#include "scheduler/explanation.h"
#include "scheduler/flavor_options.h"
#include "scheduler/listing.h"
#include "scheduler/queue_readings.h"
#include "scheduler/state.h"

namespace muster {

class Scheduler {
 public:
  explicit Scheduler(SchedulerSettings settings = {});
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
  // admitted with any quota (requests above limits, or against a LimitRange). Both may be empty while it holds
  // quota, and once it is finished. `can_be_stopped`: otherwise its quota counts, but it is no victim, since the
  // preemptor would wait forever; and if it is misconfigured as well it waits outside of its queue until its object
  // changes.
  void put(const WorkloadPtr& workload, const std::vector<Requests>& pod_requests, Now now,
           std::string misconfigured = {}, bool can_be_stopped = true);
  void remove_workload(const std::string& ns, const std::string& name);

  // The write of an admission or an eviction failed: as if it had not been decided.
  void roll_back(const std::string& ns, const std::string& name, Now now);
  // The same for all unconfirmed decisions: for a new and for a former leader.
  void roll_back_all(Now now);

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

  // Why a ClusterQueue is not active, in the words of its Active condition; nullopt: it is.
  struct Inactive {
    std::string reason;
    std::string message;
  };
  std::optional<Inactive> why_inactive(const std::string& cluster_queue) const;
  // Counts and usage of all queues at once, for metrics: one pass over the pending Workloads.
  QueueReadings readings(bool with_requests) const;
  // All Workloads and queues at once, for lists of users. Sorts and formats nothing: linear in the number of Workloads,
  // some 50 ns for each.
  Listing listing() const;
  // The weighted share of fair sharing as the status of a ClusterQueue or Cohort shows it: rounded up, and the largest
  // number for a borrower with weight 0. A root or an unknown name has none: 0.
  int64_t share_of_cluster_queue(const std::string& name) const;
  int64_t share_of_cohort(const std::string& name) const;
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

  // Why a Workload is pending; nullopt when it is unknown or not pending.
  std::optional<SchedulerView> explain(const std::string& ns, const std::string& name) const;
  // The flavors that each pod set of a pending or admitted Workload can ever get, by resource group; failed flavors
  // included. Empty when it is in no queue.
  std::vector<FlavorOptions> flavor_options(const std::string& ns, const std::string& name) const;
  // Whether it waits in an active queue: only then a refusal is reported.
  bool waits(const std::string& ns, const std::string& name) const;
  // The Workloads ("namespace/name") that have left their queue, or whose queue became inactive, since the last call:
  // their last refusal is obsolete.
  std::vector<std::string> take_left();
  // Where it is: "active", "inadmissible" or "none".
  QueuePosition position_of(const std::string& ns, const std::string& name) const;

 private:
  QueueState& queue_named(const std::string& name);
  LocalQueueState& local_queue_named(const std::string& key);
  const QueueState* find_queue(const std::string& name) const;
  WorkloadState* find(const std::string& ns, const std::string& name) const;
  void drop_if_unused(QueueState& queue);
  void drop_if_unused(LocalQueueState& local);
  std::vector<QuotaLimits> limits_of(const std::vector<ResourceGroup>& groups);
  void read_groups(QueueState& queue);
  void point_local_queue(LocalQueueState& local, QueueState* queue);

  // Workloads (scheduler_workloads.cpp).
  void read_requests(WorkloadState& state, const std::vector<Requests>& pod_requests);
  std::vector<FlavorId> failed_flavors(const Workload& workload, const QueueState& queue) const;
  bool holds_quota(const WorkloadState& state) const;
  void enter(WorkloadState& state, Now now);
  void enter_queue(WorkloadState& state, Timestamp now);
  void leave(WorkloadState& state);
  void take_reservation(WorkloadState& state, Now now);
  void note_start(WorkloadState& state, Now now) const;
  bool keeps_place(const WorkloadState& state, const WorkloadState& next) const;
  void update_reserved(WorkloadState& state, Now now);
  Timestamp queued_since(const Workload& workload) const;
  void set_local_queue(WorkloadState& state);
  void unset_local_queue(WorkloadState& state);
  void undo_assumption(WorkloadState& state, Now now);

  // Waking and turns (scheduler_turns.cpp).
  void structure_changed();
  void released(QueueState& queue, bool by_running_queue);
  void mark_dirty(QueueState& queue);
  void prepare(Now now, bool only_what_it_helps);
  void refresh_activity();
  void wake_all(QueueState& queue, Timestamp now);
  std::optional<Invalid> why_invalid(const WorkloadState& state) const;
  bool namespace_matches(const WorkloadState& state) const;
  std::vector<Decision> turn(const std::vector<QueueState*>& queues, Now now, bool settle);
  void note_word(const WorkloadState& state);
  void tell_bypassed(std::vector<Decision>& decisions);

  SchedulerState state_;
  std::map<std::string, std::unique_ptr<QueueState>> queues_;
  std::unordered_map<std::string, std::unique_ptr<LocalQueueState>> local_queues_;
  std::unordered_map<std::string, CohortPtr> cohorts_;
  std::unordered_map<std::string, std::unique_ptr<WorkloadState>> workloads_;
  std::map<std::string, Labels> namespaces_;
  std::map<std::string, bool> checks_;  // whether they are active
  Shapes shapes_;
  uint64_t last_sequence_ = 0;  // of WorkloadState
  bool structure_changed_ = true;
  std::set<QueueState*, ByName> released_;  // their trees are due for a retry
  // The same for Workloads that left by a stopped or deleted LocalQueue. Kueue forgets this retry, and so does cycle();
  // drain() does it after all other turns.
  std::set<QueueState*, ByName> deferred_releases_;
  std::set<LocalQueueState*, ByName> entering_;  // their Workloads enter a queue at the next turn
  std::vector<std::string> left_;                // see take_left()
  // Workloads in a queue whose object has an obsolete condition: that an evaluation is pending, or an earlier reason of
  // the queue. By "namespace/name".
  std::map<std::string, WorkloadState*> unexplained_;
  DirtyTrees dirty_trees_;
};

}  // namespace muster
