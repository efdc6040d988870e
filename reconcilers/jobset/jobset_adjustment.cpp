#include "reconcilers/jobset/jobset_adjustment.h"

#include <optional>
#include <string>

#include "reconcilers/jobset/jobset_child.h"
#include "reconcilers/jobset/jobset_resume.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// Kubernetes lets the two change together only, and only for Indexed Jobs that run as
// many pods at once as they need; the webhook sees to it that templates are so.
bool changes_together(const Job& job, const ReplicatedJob& replicated) {
  return job.indexed && replicated.completions == replicated.parallelism;
}

void scale(const Job& job, const ReplicatedJob& replicated, json& patch) {
  if (!changes_together(job, replicated)) return;
  if (job.completions == replicated.completions && job.parallelism == replicated.parallelism) return;
  patch["spec"]["parallelism"] = replicated.parallelism;
  patch["spec"]["completions"] = *replicated.completions;
}

bool runs_too_many(int32_t parallelism, std::optional<int32_t> completions, const ReplicatedJob& replicated) {
  return pods_at_once(parallelism, completions) > pods_at_once(replicated.parallelism, replicated.completions);
}

// A Job that a user has scaled beyond the JobSet's request. Quota was reserved for the request only.
void shrink(const Job& job, const ReplicatedJob& replicated, json& patch) {
  if (!runs_too_many(job.parallelism, job.completions, replicated)) return;
  patch["spec"]["parallelism"] = replicated.parallelism;
  if (changes_together(job, replicated)) patch["spec"]["completions"] = *replicated.completions;
}

// The same, but Kubernetes does not allow a decrease of the completions: the Job is created again.
bool must_be_remade(const Job& job, const ReplicatedJob& replicated) {
  return runs_too_many(job.parallelism, job.completions, replicated) && !changes_together(job, replicated) &&
         runs_too_many(replicated.parallelism, job.completions, replicated);
}

// If a gang's Job is resumed before its controller has seen the suspension, the Job keeps the pods of the
// previous run and gets no pods of the new run. The group would never be complete.
bool may_resume(const Job& job, const ReplicatedJob& replicated) {
  if (!job.barrier || job.barrier == replicated.barrier) return true;
  return job.status.active == 0 && condition_is_true(job.status.conditions, "Suspended");
}

// In the write that resumes the Job: no pod has the number of an earlier run.
void number(int32_t execution_attempt, json& patch) {
  const std::string key(kExecutionAttemptAnnotation);
  for (json* object : {&patch, &patch["spec"]["template"]})
    (*object)["metadata"]["annotations"][key] = std::to_string(execution_attempt);
}

}  // namespace

JobAdjustment adjustment_of(const Job& job, const ReplicatedJob& replicated, const WantedRun& wanted) {
  if (must_be_remade(job, replicated)) return {.remake = true};
  json patch;
  if (job.suspended && !wanted.suspended && wanted.open) {
    if (!may_resume(job, replicated)) return {};
    // The template of a Job that has started before cannot change. JobSet removes the start time first, and the
    // Job controller sets it again.
    if (!job.status.start_time.is_zero())
      return {.verb = Verb::kPatchStatus, .patch = {{"status", {{"startTime", nullptr}}}}};
    patch = resume_patch(job, replicated, wanted.records);
    if (wanted.execution_attempt) number(*wanted.execution_attempt, patch);
  } else if (!job.suspended && wanted.suspended) {
    patch["spec"]["suspend"] = true;
  }
  if (wanted.elastic) scale(job, replicated, patch);
  shrink(job, replicated, patch);
  return {.patch = std::move(patch)};
}

}  // namespace muster::reconcilers
