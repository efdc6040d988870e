#include "reconcilers/job/job_workload_deleted.h"

#include <algorithm>
#include <utility>

#include "api/workload_conditions.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_workload_parts.h"
#include "reconcilers/workload/pods_left.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

// Of an object whose deletion waits for what it owns.
constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";

DeletedJob deleted_job(const JobContext& context) {
  return present_job_of(context.job, context.key(), context.state);
}

// Its controller does not obey its suspension any more, but garbage collection deletes what it owns, where it is asked
// to.
void stop(const JobContext& context, const Condition& evicted, Plan& plan) {
  const ObjectMeta& job = context.job.meta();
  suspend_orphans(deleted_job(context), context, plan);
  if (std::find(job.finalizers.begin(), job.finalizers.end(), kForegroundFinalizer) != job.finalizers.end()) return;
  // Garbage collection can take the finalizer away before the pods have ended: then this comes to nothing.
  state::Maker maker{job.uid, "deletion"};
  if (const auto left = context.state.writes().pauses().left(maker, context.now.monotonic))
    return plan.wake_at(context.now.wall + *left);
  plan.writes.push_back({.verb = Verb::kDelete,
                         .target = context.key(),
                         .body = with_version(job, {}),
                         .uid = job.uid,
                         .propagation = Propagation::kForeground,
                         .events = {context.event(EventReason::kStopped, evicted.message)},
                         .maker = std::move(maker)});
}

// Nothing uses the Workload any more. A job that is held must get no quota either.
void let_go(const Workload& workload, Plan& plan) {
  const size_t before = plan.writes.size();
  drop_in_use_finalizer(kWorkloads, workload.meta, plan);
  const bool let_go_before = plan.writes.size() == before;
  if (let_go_before && !workload.meta.deleting && !workload.finished()) delete_in_use(kWorkloads, workload.meta, plan);
}

// Operators leave the status of what is being deleted as it was, also of a JobSet, so it counts only where no label
// says which pods there are. Kubernetes keeps that of Jobs.
bool says_it_has_pods(const JobContext& context) {
  const jobs::JobKind& kind = context.job.kind();
  if (&kind == &jobs::jobset) return jobs_have_pods(context);
  return (&kind == &jobs::batch_job || deleted_job(context).selector.empty()) && has_pods(context);
}

bool uses_quota(const JobContext& context, Plan& plan) {
  return says_it_has_pods(context) || has_pods_left(deleted_job(context), context, plan);
}

void give_back(const JobContext& context, const Workload& workload, Plan& plan) {
  if (workload.finished() || !workload.has_quota_reserved()) return let_go(workload, plan);
  const Condition* evicted = find_condition(workload.status.conditions, kEvictedCondition);
  if (uses_quota(context, plan)) {
    if (evicted != nullptr && evicted->is_true()) stop(context, *evicted, plan);
  } else if (const auto job_end = context.job.end()) {
    tell_end(context, workload, *job_end, plan);
  } else {
    delete_in_use(kWorkloads, workload.meta, plan);
  }
}

}  // namespace

Step give_back_when_deleted(const JobContext& context, Plan& plan) {
  if (!context.job.meta().deleting) return Step::kContinue;
  const bool works = context.job.works_while_deleted() &&
                     context.queues().rules.enabled(Gate::kDeferRayServiceFinalizationForRedisCleanup);
  for (const Workload* workload : context.state.by(state::kWorkloadsByOwner, {"", context.job.meta().uid})) {
    if (!works || workload->evicted()) give_back(context, *workload, plan);
  }
  return Step::kDone;
}

}  // namespace muster::reconcilers
