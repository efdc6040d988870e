// The unfinished Workloads of the account: each one waits in a queue, holds quota, or neither, as its object and the
// decisions that are not written yet say. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/requests.h"
#include "base/clock.h"
#include "scheduler/decision.h"
#include "scheduler/queue_table.h"
#include "scheduler/shape.h"
#include "scheduler/state.h"
#include "scheduler/wake_set.h"

namespace muster::scheduler {

class WorkloadTable {
 public:
  WorkloadTable(SchedulerState& state, QueueTable& queues, WakeSet& wake)
      : state_(state), queues_(queues), wake_(wake) {}

  // See Scheduler::put().
  void put(const WorkloadPtr& workload, const std::vector<Requests>& pod_requests, Now now, std::string misconfigured,
           bool can_be_stopped);
  void remove(const std::string& ns, const std::string& name);
  void roll_back(const std::string& ns, const std::string& name, Now now);
  void roll_back_all(Now now);

  // The pending Workloads of a LocalQueue leave their ClusterQueue; the ones that are in no queue enter one, if they
  // can.
  void leave_all(const LocalQueueState& local);
  void enter_all(const LocalQueueState& local, Timestamp now);
  // After a change of the structure every Workload of the ClusterQueue is worth another evaluation.
  void wake_all(QueueState& queue, Timestamp now);
  // The ClusterQueue admits no Workloads any longer.
  void forget_results(QueueState& stopped);

  // Adds the results of Workloads that were parked with their shape, and whose objects say something obsolete.
  void report_bypassed(std::vector<Decision>& decisions);
  // See Scheduler::take_left().
  std::vector<std::string> take_left();

 private:
  bool keeps_place(const WorkloadState& state, const WorkloadState& next) const;

  void enter(WorkloadState& state, Now now);
  void enter_queue(WorkloadState& state, Timestamp now);
  void leave(WorkloadState& state);
  void take_reservation(WorkloadState& state, WorkloadState::Holding held, Now now);
  void update_reserved(WorkloadState& state, Now now);
  void undo_assumption(WorkloadState& state, Now now);
  void set_local_queue(WorkloadState& state);
  void unset_local_queue(WorkloadState& state);
  void note_unexplained(WorkloadState& state);

  SchedulerState& state_;
  QueueTable& queues_;
  WakeSet& wake_;
  Shapes shapes_{state_.capacity};
  uint64_t last_sequence_ = 0;     // of WorkloadState
  std::vector<std::string> left_;  // see Scheduler::take_left()
  // Workloads in a queue whose object has an obsolete condition: that an evaluation is pending, or an earlier reason of
  // the queue. By "namespace/name".
  std::map<std::string, WorkloadState*> unexplained_;
};

}  // namespace muster::scheduler
