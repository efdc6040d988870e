// What the scheduler reads of a Workload's object. Pure functions of values.
#pragma once

#include <optional>
#include <vector>

#include "api/requests.h"
#include "api/workload.h"
#include "base/clock.h"
#include "scheduler/order/workload_order.h"
#include "scheduler/state.h"

namespace muster::scheduler {

// Whether it holds quota, as its object says.
bool has_admission(const Workload& workload);
// Its order among Workloads of equal priority.
Timestamp queued_since(const Workload& workload, const SchedulerSettings& settings);
// Which time that is.
OrderTimeOf queued_since_of(const Workload& workload, const SchedulerSettings& settings);
// When it can compete again; the zero time: never, until its status changes. nullopt: now.
std::optional<Timestamp> requeued_at(const Workload& workload, Timestamp now);
// Whether QuotaReserved=False has a reason that comes from no evaluation.
bool lacks_result(const Workload& workload);
// `pod_requests`: of one pod of each pod set.
std::vector<PodSetState> read_pod_sets(const Workload& workload, const std::vector<Requests>& pod_requests,
                                       QuotaIdTable& names, bool reclaims);
// Sorted. A history of another queue does not apply to this queue's flavors.
std::vector<FlavorId> failed_flavors(const Workload& workload, const QueueState& queue, const QuotaIdTable& names);
// Updates Holding::start by the condition Admitted.
void read_start(const Workload& workload, WorkloadState::Holding& holding, Now now);

}  // namespace muster::scheduler
