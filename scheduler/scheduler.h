// Decides which Workloads get quota, on which flavors, and whom they may evict for it.
//
// The Scheduler owns an account of all queues, flavors and Workloads that is updated by each
// event and never copied. One thread owns it; it reads no clock. What it decides it assumes
// at once; the caller carries decisions out and reports:
//   Admitted   written: put() the object as it came back. Failed for good: roll_back().
//   Preempted  the same: put() when the object says Evicted=True, or roll_back(). The victim's
//              quota stays taken until put() shows it without its reservation.
//   Pending    nothing to report; conditions that did not change need no write.
// A put() that lags behind an assumption (an older state of the object) does not undo it.
//
// cycle() is one turn: one head per ClusterQueue, in an order that is observably Kueue's.
// drain() repeats turns until nothing more can happen; call it after every batch of events.
// A cohort tree in which nothing happened costs nothing. Workloads that were refused wait
// until a release, or a change of queues, flavors or limits, can help them.
//
// Whether all admitted pods are ready (waitForPodsReady.blockAdmission) is the caller's
// question: await_ready() tells the answer. Evictions and refusals go on meanwhile.
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
  // Only whether it is there and active matters.
  void put(const AdmissionCheckPtr& check);
  void remove_admission_check(const std::string& name);
  // A WorkloadPriorityClass: only what it says of protection matters, since Workloads have their priority themselves.
  void put(const PriorityClassPtr& priority_class);
  void remove_workload_priority_class(const std::string& name);
  void put_namespace(const std::string& name, Labels labels);
  void remove_namespace(const std::string& name);

  // `pod_requests`: of one pod of each pod set, after LimitRanges, exclusions and
  // transformations (state/pod_requests.h). Everything else is read from the object.
  // `misconfigured`: a sentence when it must not be admitted whatever the quota (requests above
  // limits, or against a LimitRange). Both may be empty while it holds quota, and once it is finished.
  // `can_be_stopped`: otherwise its quota counts, but nobody preempts it, since he would wait for ever;
  // and if it is misconfigured as well it waits outside of its queue until its object changes.
  void put(const WorkloadPtr& workload, const std::vector<Requests>& pod_requests, Now now,
           std::string misconfigured = {}, bool can_be_stopped = true);
  void remove_workload(const std::string& ns, const std::string& name);

  // The write of an admission or an eviction failed: as if it had not been decided.
  void roll_back(const std::string& ns, const std::string& name, Now now);
  // The same for all that is not confirmed: for a new leader, and an old one.
  void roll_back_all(Now now);

  // Nobody is admitted before the pods of this Workload ("namespace/name") are ready; empty:
  // nothing is in the way. With SchedulerSettings::one_by_one every admission is such a Workload
  // by itself, until the next call. Those that wait for it go first, in the order of the cycle
  // in which they were first held up, so that who borrows is not passed for ever.
  void await_ready(const std::string& workload);

  // One turn of every ClusterQueue.
  std::vector<Decision> cycle(Now now);
  // Turns until nothing changes any more. After a release it wakes only what may be helped by
  // it; a turn by itself wakes all that are parked in the tree, as Kueue does. Of refusals only those that differ from
  // the last one of their Workload are told, and AwaitedVictim not at all.
  // Begins no turn once `enough` Workloads were admitted; the next call goes on from there, with
  // whoever is first then.
  std::vector<Decision> drain(Now now, size_t enough = SIZE_MAX);

  // Takes in what events have left to be done, and decides nothing: where somebody else
  // decides, this makes numbers and places true.
  void follow(Now now);

  // Why a ClusterQueue takes no Workloads, as its Active condition says it; nullopt: it does.
  struct Inactive {
    std::string reason;
    std::string message;
  };
  std::optional<Inactive> why_inactive(const std::string& cluster_queue) const;
  // Counts and usage of all queues at once, for metrics: one pass over the Workloads that wait.
  QueueReadings readings(bool with_requests) const;
  // All Workloads and queues at once, for lists that people read. Sorts and formats nothing: linear in
  // the number of Workloads, some 50 ns for each.
  Listing listing() const;
  // The weighted share of fair sharing as the status of a ClusterQueue or Cohort shows it: rounded up, and the
  // largest number for who borrows with weight 0. A root has none, and neither has what is not known: 0.
  int64_t share_of_cluster_queue(const std::string& name) const;
  int64_t share_of_cohort(const std::string& name) const;
  // When a decision wants to be made although nothing happened: a protection from preemption ends. nullopt: only
  // after events.
  std::optional<MonotonicTime> next_wake() const;
  // How many turns had a Workload to look at.
  uint64_t turns() const { return state_.cycle; }

  // After an exception in cycle(), drain() or follow(): at whom it was. The scheduler is half
  // way through a change then, and must be made anew from the objects.
  struct Subject {
    WorkloadPtr workload;
    std::string cluster_queue;
  };
  std::optional<Subject> subject() const;

  // Why a Workload waits; nullopt when it is unknown or does not wait.
  std::optional<SchedulerView> explain(const std::string& ns, const std::string& name) const;
  // The flavors that each pod set of a Workload that waits or has quota could ever have, by resource
  // group; those that have failed for it included. Empty when it is in no queue.
  std::vector<FlavorOptions> flavor_options(const std::string& ns, const std::string& name) const;
  // Whether it waits in a queue that admits: only of such a one a refusal is worth telling.
  bool waits(const std::string& ns, const std::string& name) const;
  // The Workloads ("namespace/name") that have left their queue, or whose queue admits nothing
  // any more, since the last call: what was said of their wait is void.
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
  // The same for what left through a LocalQueue that is stopped or gone. Kueue forgets that
  // retry, and so does cycle(); drain() makes up for it when all else has come to rest.
  std::set<QueueState*, ByName> deferred_releases_;
  std::set<LocalQueueState*, ByName> entering_;  // their Workloads enter a queue at the next turn
  std::vector<std::string> left_;                // see take_left()
  // Workloads in a queue whose object does not say what the scheduler thinks of them: it says
  // that they are to be looked at, or what has kept them out before. By "namespace/name".
  std::map<std::string, WorkloadState*> unexplained_;
  DirtyTrees dirty_trees_;
};

}  // namespace muster
