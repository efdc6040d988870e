// The status of a job's Workload as the job's course changes it. Pure.
// Source: Kueue, pkg/workload and jobframework (conditions, reasons and messages).
#pragma once

#include <string>
#include <string_view>

#include "api/meta/time.h"
#include "api/workload.h"
#include "jobs/queued_job.h"

namespace muster::reconcilers {

// It is over: Finished is True.
WorkloadStatus finished_status(const Workload& workload, std::string_view reason, std::string_view message,
                               Timestamp now);

// The message of PodsReady=False with WaitForStart.
inline constexpr std::string_view kNotAllPodsReady = "Not all pods are ready or succeeded";

// What PodsReady shall be. Once all pods were ready, a loss of one waits for recovery; the next part of a job that
// starts in stages waits for its start.
Condition pods_ready_condition(const Workload& workload, bool pods_ready, Timestamp now,
                               const jobs::Stages& stages = {});
Condition pods_ready_condition(const Workload& workload, const jobs::QueuedJob& job, Timestamp now);
// With that word on its pods. What it has tried before is over once it runs on its flavors.
WorkloadStatus status_with_pods(const Workload& workload, Condition pods_ready);

// Its evicted job has stopped: quota, admission and the assignment of its pods are released, and
// its execution time is added up. It is requeued at once only when the eviction was not its
// fault.
WorkloadStatus released_status(const Workload& workload, const Condition& evicted, Duration admitted_for,
                               Timestamp now);

}  // namespace muster::reconcilers
