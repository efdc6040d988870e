// The scheduler's decisions, as values. It assumes admissions and evictions in its own state when it decides them; the
// caller writes them and reports the result (scheduler.h).
#pragma once

#include <string>
#include <vector>

#include "api/admission.h"
#include "api/meta/object_pointers.h"
#include "scheduler/decision_fwd.h"
#include "scheduler/outcome.h"
#include "scheduler/preemption/preemption_reason.h"

namespace muster::scheduler {

// Quota is reserved: write status.admission and QuotaReserved=True, and Admitted=True only if no
// admission check applies.
struct Admitted {
  WorkloadPtr workload;
  Admission admission;
  // 0: within the ClusterQueue's own nominal quota. It is not written; recorded vectors have it.
  int borrowing_level = 0;
};

// `workload` must be evicted. Comes right before the preemptor's own decision.
struct Preempted {
  WorkloadPtr workload;
  std::string cluster_queue;
  PreemptionReason reason;
  WorkloadPtr preemptor;
  std::string message;
};

// The preemptor waits for a Workload that is being evicted and still holds its quota.
struct AwaitedVictim {
  WorkloadPtr workload;
  PreemptionReason reason;
  WorkloadPtr preemptor;
};

// The head of a ClusterQueue was not admitted: QuotaReserved=False with this reason and message.
struct Pending {
  WorkloadPtr workload;
  std::string cluster_queue;
  AttemptResult outcome = AttemptResult::kNoFit;
  PendingReason reason = PendingReason::kNone;
  std::string message{};
  QueuePosition requeued = QueuePosition::kNowhere;
  bool changed = true;    // outcome, reason or place differ from the last evaluation
  bool evaluated = true;  // false: another Workload of its shape was, with the same result
};

}  // namespace muster::scheduler
