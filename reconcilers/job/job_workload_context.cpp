#include "reconcilers/job/job_workload_context.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/job.h"
#include "api/meta/constants.h"
#include "jobs/batch_job/batch_job.h"
#include "reconcilers/pod_search.h"
#include "reconcilers/workload/pods_left.h"

namespace muster::reconcilers {

using nlohmann::json;

ObjectEvent JobContext::event(EventReason reason, std::string note) const {
  return event_about(job.type(), job.meta(), reason, std::move(note));
}

Write patch_job(const JobContext& context, Verb verb, json patch) {
  return {.verb = verb, .target = context.key(), .body = with_version(context.job.meta(), std::move(patch))};
}

Write patch_workload(const Workload& workload, Verb verb, json patch) {
  return {
      .verb = verb, .target = key_of(kWorkloads, workload.meta), .body = with_version(workload.meta, std::move(patch))};
}

WorkloadEditor edit_workload(const JobContext& context, const Workload& workload) {
  return {workload, context, Stamp::kExact};
}

std::string_view finished_reason(const jobs::JobEnd& job_end) {
  return job_end.success ? kSucceededReason : kFailedReason;
}

void finish_workload(const JobContext& context, const Workload& workload, std::string_view reason,
                     std::string_view message, Plan& plan, std::optional<ObjectEvent> event) {
  WorkloadEditor editor = edit_workload(context, workload);
  editor.finish(reason, message);
  if (event) editor.record_event(*std::move(event));
  editor.write_into(plan);
}

void tell_of_owners(const JobContext& context, const jobs::Undecided& undecided, Plan& plan) {
  if (!undecided.too_many_owners) return;
  plan.events.push_back(
      context.event(EventReason::kJobNestingTooDeep,
                    "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of 10"));
}

namespace {

Duration grace_of(const PodSpec& spec) {
  constexpr int64_t kDefault = 30, kMost = std::numeric_limits<int32_t>::max();
  const json object = json::parse(spec.text, nullptr, false);
  const int64_t seconds = int_at(object, {"terminationGracePeriodSeconds"}).value_or(kDefault);
  return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kMost));
}

// Of the pods of a Job that is suspended: when the last of their grace periods is over, and a Node that does not answer
// by then is as good as gone. nullopt: its pods end for another reason.
std::optional<TimePoint> end_of_graces(const JobContext& context, const Job& job) {
  const Condition* suspended = find_condition(job.status.conditions, "Suspended");
  if (job.status.terminating <= 0 || !job.suspended || suspended == nullptr || !suspended->is_true())
    return std::nullopt;
  Duration grace{};
  for (const PodSet& pod_set : context.job.pod_set_shapes(context.queues().rules)) {
    if (pod_set.pod_template.spec != nullptr) grace = std::max<Duration>(grace, grace_of(*pod_set.pod_template.spec));
  }
  grace = std::min(grace, context.settings.longest_grace.value_or(grace));
  return to_time_point(suspended->last_transition) + grace + kDeadNodeBound;
}

bool has_pods_of(const JobContext& context, const Job& job) {
  if (job.status.active > 0) return true;
  const auto end = end_of_graces(context, job);
  return job.status.terminating > 0 && (!end || context.now.wall < *end);
}

bool is_jobset(const JobContext& context) {
  return context.job.type() == kJobSets;
}

// Of a Job it is the Job itself.
std::vector<const Job*> jobs_of(const JobContext& context) {
  const ObjectMeta& meta = context.job.meta();
  if (is_jobset(context)) return jobs_of(present_job_of(context.job, context.key(), context.state), context.state);
  const Job* job = context.job.type() == kJobs ? context.state.find<Job>(meta.ns, meta.name) : nullptr;
  return job == nullptr ? std::vector<const Job*>() : std::vector<const Job*>{job};
}

// By the API server: of a described kind, and of Jobs whose pods end for longer than their template says. A delete can
// ask for a longer grace period.
bool has_uncounted_pods(const JobContext& context, const std::vector<const Job*>& jobs, Plan& plan) {
  const jobs::JobKind& kind = context.job.kind();
  if (&kind == &jobs::batch_job || &kind == &jobs::jobset) {
    if (std::none_of(jobs.begin(), jobs.end(), [](const Job* job) { return job->status.terminating > 0; }))
      return false;
  }
  return finds_pods(present_job_of(context.job, context.key(), context.state), context, plan);
}

bool have_pods(const JobContext& context, const std::vector<const Job*>& jobs) {
  const bool has_parts = is_jobset(context);
  return std::any_of(jobs.begin(), jobs.end(), [&](const Job* job) {
    const bool will_stop = has_parts && !job->suspended && !job->meta.deleting && !jobs::end_of(*job);
    return will_stop || has_pods_of(context, *job);
  });
}

}  // namespace

bool has_pods(const JobContext& context) {
  return context.job.active() || jobs_have_pods(context);
}

bool jobs_have_pods(const JobContext& context) {
  return have_pods(context, jobs_of(context));
}

bool needs_quota(const JobContext& context, Plan& plan) {
  const std::vector<const Job*> jobs = jobs_of(context);
  const bool lost =
      is_jobset(context) && std::any_of(jobs.begin(), jobs.end(), [](const Job* job) { return !job->meta.controller; });
  if (lost) plan.wake_at(context.now.wall + kJobsInterval);
  return context.job.active() || have_pods(context, jobs) || has_uncounted_pods(context, jobs, plan);
}

bool has_left_pods(const JobContext& context, Plan& plan) {
  const std::vector<const Job*> jobs = jobs_of(context);
  return is_jobset(context) ? have_pods(context, jobs) : has_uncounted_pods(context, jobs, plan);
}

void wait_for_graces(const JobContext& context, Plan& plan) {
  if (!context.job.suspended()) return;
  for (const Job* job : jobs_of(context)) {
    const auto end = end_of_graces(context, *job);
    if (end && context.now.wall < *end) plan.wake_at(*end);
  }
}

std::optional<ObjectEvent> overstay_event(const JobContext& context) {
  int64_t pods = 0;
  for (const Job* job : jobs_of(context)) pods += job->status.terminating;
  if (pods == 0) return std::nullopt;
  return context.event(EventReason::kPodsOverstay,
                       std::to_string(pods) +
                           " of its pods were deleted and have not ended in time; their quota is released, so delete "
                           "them, or their Node if it is gone");
}

}  // namespace muster::reconcilers
