#include "reconcilers/job/job_workload_run.h"

#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "reconcilers/job/job_workload_infos.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// A missing flavor can be created later. Events of flavors do not lead to their jobs.
constexpr Duration kFlavorInterval = std::chrono::seconds(5);

std::vector<PodSetInfo> infos_like(const Workload* like) {
  std::vector<PodSetInfo> infos;
  if (like == nullptr) return infos;
  for (const PodSet& pod_set : like->pod_sets) infos.push_back(jobs::info_of_pod_set(pod_set));
  return infos;
}

void add(const JobContext& context, json patch, std::vector<ObjectEvent> events, Plan& plan) {
  Write write = patch_job(context, Verb::kPatch, std::move(patch));
  const std::string job =
      context.job.meta().ns + "/" + std::string(context.job.type().kind) + "/" + context.job.meta().name;
  for (const ObjectEvent& event : events)
    write.decisions.push_back({event.reason == to_text(EventReason::kStarted) ? "job started" : "job stopped",
                               {{"job", job}, {"message", event.note}}});
  write.events = std::move(events);
  plan.writes.push_back(std::move(write));
}

json stopping_mark(json value) {
  return {{"metadata", {{"annotations", {{kStoppingAnnotation, std::move(value)}}}}}};
}

// Whether a patch contains the kind's own way of resuming a job.
bool resumes(const jobs::QueuedJob& job, const json& patch) {
  json resumed = patch;
  resumed.merge_patch(job.kind().suspend_patch(false));
  return resumed == patch;
}

void clear_start_time(const JobContext& context, Plan& plan) {
  plan.writes.push_back(patch_job(context, Verb::kPatchStatus, {{"status", {{"startTime", nullptr}}}}));
}

// First the job is suspended. Its templates are restored when no pod runs any more.
Step advance_late_stop(const JobContext& context, std::string note, Plan& plan) {
  const jobs::QueuedJob& job = context.job;
  if (!job.suspended()) {
    add(context, job.kind().suspend_patch(true), {context.event(EventReason::kStopped, std::move(note))}, plan);
    return Step::kDone;
  }
  json restore = job.restore_patch({});
  if (restore.is_null()) return Step::kContinue;
  if (!job.active()) add(context, std::move(restore), {}, plan);
  return Step::kDone;
}

}  // namespace

Step take_back_leftovers(const JobContext& context, Plan& plan) {
  const jobs::QueuedJob& job = context.job;
  if (!job.kind().restores_once_inactive() || !job.suspended() || job.active() || job.end()) return Step::kContinue;
  for (const Workload* workload : context.state.by(state::kWorkloadsByOwner, {"", job.meta().uid})) {
    if (workload->has_quota_reserved() && !workload->finished()) return Step::kContinue;
  }
  json restore = job.restore_patch({});
  if (restore.is_null()) return Step::kContinue;
  add(context, std::move(restore), {}, plan);
  return Step::kDone;
}

Step advance_stop(const JobContext& context, const Workload* like, std::string note, Plan& plan) {
  const jobs::QueuedJob& job = context.job;
  if (job.kind().restores_once_inactive()) return advance_late_stop(context, std::move(note), plan);
  const bool in_steps = job.kind().stops_in_steps();
  if (!in_steps && job.suspended()) return Step::kContinue;
  json restore = job.restore_patch(infos_like(like));
  const bool marked = job.stopping();
  std::vector<ObjectEvent> told = {context.event(EventReason::kStopped, std::move(note))};
  if (!job.suspended()) {
    json patch = job.kind().suspend_patch(true);
    const bool at_once = !in_steps || (restore.is_null() && !job.has_start_time());
    if (at_once) {
      if (!restore.is_null()) patch.update(restore, true);
      if (marked) patch.update(stopping_mark(nullptr), true);
    } else {
      patch.update(stopping_mark("true"), true);
      told.clear();
    }
    add(context, std::move(patch), std::move(told), plan);
    return Step::kDone;
  }
  if (job.has_start_time()) {
    clear_start_time(context, plan);
    return Step::kDone;
  }
  if (restore.is_null() && !marked) return Step::kContinue;
  // Kubernetes refuses this until the pods are deleted. The status that reports their deletion triggers this
  // again.
  if (in_steps && job.active() && restore.is_object() && restore["spec"].contains("template")) return Step::kDone;
  if (restore.is_null()) restore = json::object();
  if (marked) {
    restore.update(stopping_mark(nullptr), true);
  } else {
    told.clear();
  }
  add(context, std::move(restore), std::move(told), plan);
  return Step::kDone;
}

void start(const JobContext& context, const Workload& workload, Plan& plan) {
  const auto fail_to_start = [&](const std::string& why) {
    finish_workload(context, workload, kFailedToStartReason, why, plan);
  };
  const auto infos = infos_of_admission(context, workload);
  if (!infos && infos.error().retry) return plan.wake_at(context.now.wall + kFlavorInterval);
  if (!infos) return fail_to_start(infos.error().message);
  auto patch = context.job.start_patch(*infos);
  if (!patch) return fail_to_start(patch.error().message);
  if (context.job.start_time_is_in_the_way() && (*patch)["spec"].contains("template"))
    return clear_start_time(context, plan);
  if (!resumes(context.job, *patch)) return add(context, *std::move(patch), {}, plan);
  const std::string cluster_queue = workload.status.admission ? workload.status.admission->cluster_queue : "";
  add(context, std::move(*patch), {context.event(EventReason::kStarted, "Admitted by clusterQueue " + cluster_queue)},
      plan);
}

}  // namespace muster::reconcilers
