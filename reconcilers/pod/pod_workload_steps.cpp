#include "reconcilers/pod/pod_workload_steps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "jobs/pod/pod_group.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_workload_make.h"
#include "reconcilers/job/job_workload_parts.h"
#include "reconcilers/pod/pod_workload_run.h"
#include "state/scheduler_driver.h"

namespace muster::reconcilers {

using nlohmann::json;

void release_evicted(const ReconcileContext& context, const Workload& workload, const Condition& evicted, bool has_pods,
                     Plan& plan) {
  WorkloadEditor editor(workload, context, Stamp::kExact);
  editor.release_evicted(evicted);
  if (const Condition* requeued = editor.find(kRequeuedCondition); requeued && !has_pods) {
    Condition never = *requeued;
    never.status = "False";
    set_condition(editor.status.conditions, std::move(never));
  }
  editor.write_into(plan);
}

namespace {

Step update_from_eviction(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  const Condition* evicted = find_condition(workload.status.conditions, kEvictedCondition);
  if (evicted == nullptr || !evicted->is_true()) return Step::kContinue;
  const std::string reason = "WorkloadEvictedDueTo" + evicted->reason.text();
  if (stop_pods(context, WhichPods::kRunning, reason, evicted->message, plan) == Step::kDone) return Step::kDone;
  // Pods that run still need their quota.
  if (workload.has_quota_reserved() && !context.group.active)
    release_evicted(context.job, workload, *evicted, context.is_group(), plan);
  return Step::kDone;
}

// The condition WaitingForReplacementPods.
Step tell_replacement(const PodContext& context, const Workload& workload, int32_t absent, Plan& plan) {
  constexpr std::string_view kType = "WaitingForReplacementPods";
  const Condition* present = find_condition(workload.status.conditions, kType);
  if (!context.is_group() || (present == nullptr && absent == 0)) return Step::kContinue;
  Condition wanted = present == nullptr ? Condition() : *present;
  wanted.type = kType;
  const Condition* evicted = find_condition(workload.status.conditions, kEvictedCondition);
  if (absent == 0) {
    if (wanted.status == "False") return Step::kContinue;
    wanted.reason = kPodsReadyCondition;
    wanted.message = "No pods need replacement";
  } else if (evicted != nullptr && evicted->is_true()) {
    wanted.reason = evicted->reason;
    wanted.message = evicted->message;
  } else if (!wanted.is_true()) {
    wanted.reason = "PodsFailed";
    wanted.message = "Some Failed pods need replacement";
  }
  wanted.status = absent > 0 ? "True" : "False";
  if (present != nullptr && wanted == *present) return Step::kContinue;
  WorkloadEditor editor = edit_workload(context.job, workload);
  editor.set(kType, wanted.is_true(), wanted.reason, wanted.message);
  editor.write_into(plan);
  return Step::kDone;
}

// The result of a pod is stored in the Workload before any other action follows from it.
Step record_ends(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  if (!context.is_group()) return Step::kContinue;
  json annotations = json::object();
  const jobs::SucceededPods known = jobs::read_succeeded(workload.meta.annotation(kSucceededPodsAnnotation));
  if (jobs::SucceededPods now_known = jobs::succeeded_with(known, context.group); now_known != known)
    annotations[std::string(kSucceededPodsAnnotation)] = jobs::to_text(now_known);
  if (jobs::is_unretriable(context.group) && workload.meta.annotation(kRetriableInGroup) != "false" &&
      !annotations.empty())
    annotations[std::string(kRetriableInGroup)] = "false";
  if (annotations.empty()) return Step::kContinue;
  plan.writes.push_back(
      patch_workload(workload, Verb::kPatch, {{"metadata", {{"annotations", std::move(annotations)}}}}));
  return Step::kDone;
}

Step let_go_finished(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  if (!workload.finished()) return Step::kContinue;
  drop_in_use_finalizer(kWorkloads, workload.meta, plan,
                        {context.job.event(EventReason::kFinishedWorkload,
                                           "Workload '" + path_of(workload.meta) + "' is declared finished")});
  drop_kueue_finalizers(context.group.pods, plan);
  return Step::kDone;
}

Step update_from_end(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  const auto job_end = jobs::end_of(context.group);
  if (!job_end) return Step::kContinue;
  tell_end(context.job, workload, *job_end, plan);
  return Step::kDone;
}

// The pods that own the Workload, and all pods that run. A later pod, such as the replacement of the last pod,
// waits for the group's next Workload.
PodGroup who_goes_with(const PodGroup& group, const Workload& workload) {
  PodGroup going = group;
  std::erase_if(going.pods, [&](const QueuedPodPtr& pod) {
    return !group.group.empty() && pod->gated() && workload.group_owners_text.find(pod->meta.uid) == std::string::npos;
  });
  return going;
}

// Its Workload is being deleted: its pods are deleted first, also the finished pods.
Step stop_with_deleted(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  if (!workload.meta.deleting) return Step::kContinue;
  const Step stop = with_context(who_goes_with(context.group, workload), context.job, [&](const PodContext& going) {
    return stop_pods(going, WhichPods::kAll, "WorkloadDeleted", "Workload is deleted", plan);
  });
  if (stop == Step::kDone || context.group.active) return Step::kDone;
  drop_in_use_finalizer(kWorkloads, workload.meta, plan);
  drop_kueue_finalizers(context.group.pods, plan);
  return Step::kDone;
}

Step keep_gates(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  const auto gates = gates_left(context.rules(), context.group.meta, workload);
  if (context.is_of_set() || !gates) return Step::kContinue;
  Write write = patch_workload(workload, Verb::kPatch, {{"metadata", {{"annotations", annotations_with(*gates)}}}});
  write.events = {context.job.event(EventReason::kUpdatedWorkload, note_of(*gates))};
  plan.writes.push_back(std::move(write));
  return Step::kDone;
}

Step keep_priority(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  if (context.is_of_set() || !names_other_class(context.job, workload)) return Step::kContinue;
  const auto priority = priority_or_event(context.job, plan);
  if (!priority) return Step::kDone;
  Write write = patch_workload(workload, Verb::kPatch, {{"spec", to_json(*priority)}});
  write.events = {
      context.job.event(EventReason::kUpdatedWorkload, "Updated workload priority class: " + path_of(workload.meta))};
  plan.writes.push_back(std::move(write));
  return Step::kDone;
}

Step tell_job_reclaimable(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  return tell_reclaimable(context.job, workload, plan);
}

Step tell_job_ready(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  return tell_ready(context.job, workload, plan);
}

Step stop_or_wait(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  if (workload.admitted()) return Step::kContinue;
  const Step stop = stop_pods(context, WhichPods::kRunning, "NotAdmitted", "Not admitted by cluster queue", plan);
  if (stop == Step::kContinue && !context.is_of_set()) wait_for_admission(context.job, workload, plan);
  return Step::kDone;
}

// The set had another number of pods when quota was reserved, and none of them runs: the quota is released.
bool is_of_other_size(const PodContext& context, const Workload& workload) {
  if (!context.is_of_set()) return false;
  const auto& pods = context.group.pods;
  if (std::any_of(pods.begin(), pods.end(),
                  [](const QueuedPodPtr& pod) { return !pod->gated() && !pod->terminated(); }))
    return false;
  int64_t counted = 0;
  for (const PodSet& pod_set : workload.pod_sets) counted += pod_set.count;
  const auto wanted = jobs::total_count(context.group);
  return !wanted || *wanted != counted;
}

Step start(const PodContext& context, const Workload& workload, int32_t, Plan& plan) {
  if (is_of_other_size(context, workload)) return Step::kDone;
  start_pods(context, workload, plan);
  if (plan.writes.empty()) drop_kueue_finalizers(context.group.pods, plan);
  return Step::kDone;
}

// `absent`: how many pods of the group are missing.
constexpr Step (*kStepsWithWorkload[])(const PodContext&, const Workload&, int32_t absent, Plan&) = {
    let_go_finished,
    stop_with_deleted,
    tell_replacement,
    update_from_end,
    record_ends,  //
    keep_gates,
    keep_priority,
    tell_job_reclaimable,
    tell_job_ready,
    update_from_eviction,
    stop_or_wait,
    start};

}  // namespace

Step reconcile_workload(const PodContext& context, const Workload& workload, int32_t absent, Plan& plan) {
  return take_steps(kStepsWithWorkload, context, workload, absent, plan);
}

}  // namespace muster::reconcilers
