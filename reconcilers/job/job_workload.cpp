#include "reconcilers/job/job_workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "jobs/pod_selector.h"
#include "jobs/prebuilt_workload.h"
#include "kinds/on_hold.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_workload_choice.h"
#include "reconcilers/job/job_workload_concerned.h"
#include "reconcilers/job/job_workload_context.h"
#include "reconcilers/job/job_workload_deleted.h"
#include "reconcilers/job/job_workload_make.h"
#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/job/job_workload_parts.h"
#include "reconcilers/job/job_workload_run.h"
#include "reconcilers/job/job_workload_standing.h"
#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/pods_left.h"
#include "reconcilers/workload/pods_ready.h"
#include "reconcilers/workload/workload_editor.h"
#include "reconcilers/workload/workload_queues.h"
#include "scheduler/eligibility.h"
#include "scheduler/scheduler.h"
#include "state/index/indexes.h"
#include "state/scheduler_driver.h"
#include "state/unsupported.h"

namespace muster::reconcilers {
namespace {

// A namespace or an owner that the watches have not shown yet.
constexpr Duration kUndecidedInterval = std::chrono::seconds(5);

// --- A job without a Workload ---

void create(const JobContext& context, Plan& plan) {
  // A namespace in deletion accepts no new objects, and the job is deleted with it.
  const TypedObject* ns = context.state.find(kNamespaces, "", context.job.meta().ns);
  if (ns != nullptr && meta_of(*ns).deleting) return;
  const ObjectKey key{&kWorkloads, context.job.meta().ns, name_of_workload(context)};
  if (const Workload* other = context.state.find<Workload>(key.ns, key.name)) {
    plan.wake_at(context.now.wall + kNameConflictInterval);
    plan.events.push_back(context.event(EventReason::kWorkloadNameConflict,
                                        "Workload " + path_of(other->meta) +
                                            " exists and does not belong to this job; delete it, and this job gets one "
                                            "of that name"));
    return;
  }
  const auto priority = priority_or_event(context, plan);
  if (!priority) return;
  plan.writes.push_back(
      creation_of(context, key, make_workload(context, *priority), context.job.type().kind, context.job.meta()));
}

Step reconcile_without_workload(const JobContext& context, Plan& plan) {
  if (context.job.end()) return Step::kDone;
  // Its making leads back here.
  if (jobs::prebuilt_workload_name_of(context.queues().rules, context.job.meta()))
    return advance_stop(context, nullptr, "missing workload", plan);
  if (!context.job.active()) create(context, plan);
  return Step::kDone;
}

// --- A job with its Workload ---

std::string name_in_events(const Workload& workload) {
  return "Workload '" + path_of(workload.meta) + "' is declared finished";
}

}  // namespace

void tell_end(const JobContext& context, const Workload& workload, const jobs::JobEnd& job_end, Plan& plan) {
  finish_workload(context, workload, finished_reason(job_end), job_end.message, plan,
                  context.event(EventReason::kFinishedWorkload, name_in_events(workload)));
}

namespace {

bool same_pods(std::vector<ReclaimablePod> one, std::vector<ReclaimablePod> other) {
  const auto by_name = [](const ReclaimablePod& a, const ReclaimablePod& b) { return a.name < b.name; };
  std::sort(one.begin(), one.end(), by_name);
  std::sort(other.begin(), other.end(), by_name);
  return one == other;
}

}  // namespace

Step tell_reclaimable(const JobContext& context, const Workload& workload, Plan& plan) {
  if (!context.queues().rules.enabled(Gate::kReclaimablePods)) return Step::kContinue;
  std::vector<ReclaimablePod> reclaimable = context.job.reclaimable_pods();
  if (same_pods(reclaimable, workload.status.reclaimable_pods)) return Step::kContinue;
  WorkloadEditor editor = edit_workload(context, workload);
  editor.status.reclaimable_pods = std::move(reclaimable);
  editor.write_into(plan);
  return Step::kDone;
}

namespace {

// The scheduler has a decision about the Workload, or will have one. The first value of PodsReady is then
// written with this decision (reconcilers/workload/admission.cpp), which saves a write for every job.
bool is_about_to_be_judged(const JobContext& context, const Workload& workload) {
  const state::SchedulerDriver& driver = context.decisions;
  return !workload.has_quota_reserved() &&
         (driver.pending_decision_on(workload.meta.ns, workload.meta.name) != nullptr ||
          scheduler::position_of(driver.scheduler().state(), workload.meta.ns, workload.meta.name) ==
              scheduler::QueuePosition::kActive);
}

}  // namespace

Step tell_ready(const JobContext& context, const Workload& workload, Plan& plan) {
  const bool for_all = context.queues().wait_for_pods_ready.has_value();
  if (!for_all && !tracks_flavors(workload, state::queues_of(workload, context.state).cluster)) return Step::kContinue;
  const PodsReady wanted = pods_ready_after(workload, context.job);
  const Condition* present = find_condition(workload.status.conditions, kPodsReadyCondition);
  if (wanted.is_in(present)) return Step::kContinue;
  if (present == nullptr && is_about_to_be_judged(context, workload)) return Step::kContinue;
  // If only flavors need PodsReady, its first value is written with the quota.
  if (present == nullptr && !for_all && !workload.has_quota_reserved()) return Step::kContinue;
  WorkloadEditor editor = edit_workload(context, workload);
  editor.set_pods_ready(wanted.is_true, wanted.reason, wanted.message);
  editor.write_into(plan);
  return Step::kDone;
}

namespace {

Step update_from_eviction(const JobContext& context, const Workload& workload, Plan& plan) {
  const Condition* evicted = find_condition(workload.status.conditions, kEvictedCondition);
  if (evicted == nullptr || !evicted->is_true()) return Step::kContinue;
  suspend_orphans(present_job_of(context.job, context.key(), context.state), context, plan);
  if (advance_stop(context, &workload, evicted->message, plan) == Step::kDone) return Step::kDone;
  // Pods that run still need their quota.
  if (!workload.has_quota_reserved() || needs_quota(context, plan)) return Step::kDone;
  WorkloadEditor editor = edit_workload(context, workload);
  editor.release_evicted(*evicted);
  if (auto overstay = overstay_event(context)) editor.record_event(*std::move(overstay));
  editor.write_into(plan);
  return Step::kDone;
}

void tell_of_checks(const JobContext& context, const Workload& workload, Plan& plan) {
  std::string text;
  for (const AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state != kCheckPending || check.message.empty()) continue;
    text += (text.empty() ? "" : "; ") + check.name + ": " + check.message;
  }
  if (!text.empty()) plan.events.push_back(context.event(EventReason::kUpdatedAdmissionCheck, std::move(text)));
}

}  // namespace

void wait_for_admission(const JobContext& context, const Workload& workload, Plan& plan) {
  if (workload.has_quota_reserved()) tell_of_checks(context, workload, plan);
  const std::string queue(context.job.queue_name());
  if (workload.queue_name == queue) return;
  // The queue of a Workload that holds quota cannot change.
  if (workload.has_quota_reserved()) {
    WorkloadEditor editor(workload, context);
    editor.release(kPendingEvaluationReason, "The job names another queue now");
    return editor.write_into(plan);
  }
  // No queue is no field: an empty name is refused.
  const nlohmann::json name = queue.empty() ? nlohmann::json() : nlohmann::json(queue);
  plan.writes.push_back(patch_workload(workload, Verb::kPatch, {{"spec", {{"queueName", name}}}}));
}

namespace {

Step let_go_finished(const JobContext& context, const Workload& workload, Plan& plan) {
  if (!workload.finished()) return Step::kContinue;
  drop_in_use_finalizer(kWorkloads, workload.meta, plan,
                        {context.event(EventReason::kFinishedWorkload, name_in_events(workload))});
  return Step::kDone;
}

Step stop_with_deleted(const JobContext& context, const Workload& workload, Plan& plan) {
  if (!workload.meta.deleting) return Step::kContinue;
  if (advance_stop(context, &workload, "Workload is deleted", plan) == Step::kDone) return Step::kDone;
  // The finalizer keeps its quota while pods end.
  const bool in_use = workload.has_quota_reserved() && !context.job.end() && needs_quota(context, plan);
  if (!in_use) drop_in_use_finalizer(kWorkloads, workload.meta, plan);
  return Step::kDone;
}

// Its controller does nothing for it until a user repairs it: it needs no quota, and gets none.
Step update_from_hold(const JobContext& context, const Workload& workload, Plan& plan) {
  constexpr const char* kWhy = "Job is on hold";
  WorkloadEditor editor(workload, context);
  if (!context.job.on_hold()) {
    if (!is_on_hold(workload)) return Step::kContinue;
    editor.set(kQuotaReservedCondition, false, kPendingEvaluationReason,
               "Workload no longer on hold; waiting for quota reservation");
    editor.sync_admitted();
  } else {
    if (advance_stop(context, &workload, kWhy, plan) == Step::kDone || is_on_hold(workload)) return Step::kDone;
    if (workload.has_quota_reserved() && needs_quota(context, plan)) return Step::kDone;
    editor.release(kOnHoldReason, kWhy);
  }
  editor.write_into(plan);
  return Step::kDone;
}

// The job can be orphaned at any moment after its start, and then only the Workload can say which pods are its.
Step keep_selector(const JobContext& context, const Workload& workload, Plan& plan) {
  const ObjectMeta& job = context.job.meta();
  const std::string selector = context.job.pod_selector();
  const std::string_view kept = workload.meta.annotation(jobs::kPodSelectorAnnotation);
  if (!workload.has_quota_reserved() || selector.empty() || selector == kept ||
      selector.size() > jobs::kLongestPodSelector)
    return Step::kContinue;
  if (kept.empty() && selector == context.job.kind().pod_selector(job.name, job.uid)) return Step::kContinue;
  plan.writes.push_back(
      patch_workload(workload, Verb::kPatch,
                     {{"metadata", {{"annotations", {{std::string(jobs::kPodSelectorAnnotation), selector}}}}}}));
  return Step::kDone;
}

Step update_from_end(const JobContext& context, const Workload& workload, Plan& plan) {
  const auto job_end = context.job.end();
  if (!job_end) return Step::kContinue;
  if (!workload.has_quota_reserved() || !has_left_pods(context, plan)) {
    tell_end(context, workload, *job_end, plan);
  } else if (plan.writes.empty()) {
    plan.events.push_back(context.event(EventReason::kPodsLeft,
                                        "The " + std::string(context.job.type().kind) +
                                            " has ended, and pods of it still run and keep its quota; delete them, or "
                                            "have them deleted at the end (as with cleanPodPolicy: Running)"));
  }
  return Step::kDone;
}

// A JobSet that is in no queue can have Jobs that are queued by themselves. While it is suspended, so are they.
bool is_suspended_by_jobset(const JobContext& context) {
  const auto& controller = context.job.meta().controller;
  if (!context.queues().rules.runs_jobsets() || !controller || jobs::job_type_of(*controller) != &kJobSets)
    return false;
  const JobSet* jobset = context.state.find<JobSet>(context.job.meta().ns, controller->name);
  return jobset != nullptr && jobset->meta.uid == controller->uid && jobset->suspended;
}

// The queue of a job that is stopped can change after the admission. Pods that run still need their quota, and a
// Workload that the user has made can be in another queue.
Step leave_old_queue(const JobContext& context, const Workload& workload, Plan& plan) {
  const std::string_view queue = context.job.queue_name();
  if (!context.job.stopped() || !workload.admitted() || queue.empty() || workload.queue_name == queue ||
      jobs::prebuilt_workload_name_of(context.queues().rules, context.job.meta()))
    return Step::kContinue;
  if (!needs_quota(context, plan)) wait_for_admission(context, workload, plan);
  return Step::kDone;
}

Step start_or_wait(const JobContext& context, const Workload& workload, Plan& plan) {
  if (!context.job.stopped()) return Step::kContinue;
  if (!lets_run(context, workload))
    wait_for_admission(context, workload, plan);
  else if (!is_suspended_by_jobset(context))
    start(context, workload, plan);
  return Step::kDone;
}

// A stop that was begun is completed; the Workload was possibly admitted again since.
Step stop_unadmitted(const JobContext& context, const Workload& workload, Plan& plan) {
  if (workload.admitted() && !context.job.suspended()) return Step::kContinue;
  return advance_stop(context, &workload, "Not admitted by cluster queue", plan);
}

constexpr Step (*kStepsWithWorkload[])(const JobContext&, const Workload&, Plan&) = {
    let_go_finished,      stop_with_deleted, update_from_hold, update_from_end, tell_reclaimable, tell_ready,
    update_from_eviction, leave_old_queue,   keep_selector,    start_or_wait,   stop_unadmitted};

// --- The pass ---

// muster is the JobSet controller and does not run this JobSet (reconcilers/jobset/jobset.cpp).
bool is_never_run(const JobContext& context) {
  const jobs::QueuedJob& job = context.job;
  if (!context.queues().rules.runs_jobsets() || job.type() != kJobSets) return false;
  const JobSet* jobset = context.state.find<JobSet>(job.meta().ns, job.meta().name);
  return jobset != nullptr &&
         (!jobset->unsupported.empty() || state::is_outside_webhooks(jobset->meta.ns, context.settings));
}

// It does not wait for quota and holds no quota.
void withdraw(const JobContext& context, Plan& plan) {
  for (const Workload* workload : context.state.by(state::kWorkloadsByOwner, {"", context.job.meta().uid}))
    delete_in_use(kWorkloads, workload->meta, plan);
}

using JobStep = Step (*)(const JobContext&, Plan&);

Step leave_alone(const JobContext& context, Plan&) {
  const jobs::QueuedJob& job = context.job;
  if (!job.kind().is_managed_by(job.managed_by())) return Step::kDone;
  const bool unused = job.left_alone() && context.state.by(state::kWorkloadsByOwner, {"", job.meta().uid}).empty();
  return unused ? Step::kDone : Step::kContinue;
}

Step update_from_standing(const JobContext& context, Plan& plan) {
  const auto standing = standing_of(context);
  if (!standing) plan.wake_at(context.now.wall + kUndecidedInterval);
  if (!standing || *standing == Standing::kOutside) return Step::kDone;
  if (*standing == Standing::kQueued) return Step::kContinue;
  if (*standing == Standing::kHeld) hold(context, plan);
  if (plan.writes.empty()) leave_queue(context, plan);
  return Step::kDone;
}

Step leave_never_run(const JobContext& context, Plan& plan) {
  const jobs::QueuedJob& job = context.job;
  if (!is_never_run(context) || !job.suspended() || has_pods(context)) return Step::kContinue;
  if (!job.end()) withdraw(context, plan);
  return Step::kDone;
}

Step reconcile_workload(const JobContext& context, Plan& plan) {
  if (take_back(context, plan) == Step::kDone) return Step::kDone;
  const WorkloadChoice choice = keep_one_workload(context, plan);
  if (choice.step == Step::kDone) return Step::kDone;
  if (choice.workload == nullptr) return reconcile_without_workload(context, plan);
  return take_steps(kStepsWithWorkload, context, *choice.workload, plan);
}

constexpr JobStep kSteps[] = {give_back_when_deleted, leave_alone,         update_from_standing,
                              leave_never_run,        take_back_leftovers, reconcile_workload};

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const auto job = find_job(key, context.state);
  if (!job || !context.queues().rules.frameworks.contains(job->kind().framework)) return plan;
  const JobContext job_context{context, *job};
  wait_for_graces(job_context, plan);
  run_pass(kSteps, job_context, plan);
  return plan;
}

}  // namespace

const Reconciler job_workload_reconciler = {
    .name = "job_workload", .requests_for = jobs_concerned_by, .reconcile = reconcile};

}  // namespace muster::reconcilers
