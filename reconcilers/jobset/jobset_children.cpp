#include "reconcilers/jobset/jobset_children.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/config/feature_gates.h"
#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/size_limit.h"
#include "reconcilers/jobset/jobset_adjustment.h"
#include "reconcilers/jobset/jobset_child.h"
#include "reconcilers/jobset/jobset_quota.h"
#include "reconcilers/jobset/jobset_resume.h"
#include "reconcilers/jobset/jobset_status.h"
#include "reconcilers/step.h"
#include "state/pod_priority.h"
#include "state/pod_requests.h"

namespace muster::reconcilers {
namespace {

// Number of Jobs that one plan creates. The remaining Jobs are created when these exist.
constexpr size_t kCreatesAtOnce = state::WritePauses::kMostAtOnce;
// And no more of their templates, as text.
constexpr size_t kCreatedBytesAtOnce = 4 << 20;
// Until the question whether a JobSet can run is asked again, if no event does so before.
constexpr Duration kQuotaInterval = std::chrono::seconds(5);

// The API server has refused such an object a moment ago. The other objects of the JobSet do not wait for it.
Step wait_for_next_try(const JobSetContext& context, const state::Maker& maker, Plan& plan) {
  const auto left = context.state.writes().pauses().left(maker, context.now.monotonic);
  if (!left) return Step::kContinue;
  plan.wake_at(context.now.wall + *left);
  return Step::kDone;
}

void create_service(const JobSetContext& context, Plan& plan) {
  const JobSet& jobset = context.jobset;
  const ObjectKey key{&kServices, jobset.meta.ns, jobset.subdomain};
  if (!jobset.dns_hostnames || context.state.find<Service>(key.ns, key.name) != nullptr) return;
  // A Service with this name that belongs to another owner is not changed, as in JobSet.
  state::Maker maker = maker_of(jobset, "Service");
  if (context.state.writes().has_name_conflict(key, context.now.monotonic) ||
      wait_for_next_try(context, maker, plan) == Step::kDone)
    return;
  plan.writes.push_back({.verb = Verb::kCreate,
                         .target = key,
                         .body = headless_service(jobset),
                         .refusal = event_about(jobset, EventReason::kHeadlessServiceCreationFailed,
                                                "Service " + path_of(key.ns, key.name) + " cannot be created: "),
                         .maker = std::move(maker)});
}

void tell_foreign_claim(const JobSet& jobset, const VolumeClaim& claim, const std::string& name, Plan& plan) {
  if (claim.retained) return;
  plan.events.push_back(event_about(
      jobset, EventReason::kPVCCreationFailed,
      "PersistentVolumeClaim " + path_of(jobset.meta.ns, name) +
          " exists and does not belong to this JobSet: its pods use it as it is, and it stays when the JobSet is "
          "deleted; set retentionPolicy.whenDeleted to Retain, or use another name"));
}

// Created once, also while the JobSet is suspended. An existing claim is used without changes.
void create_claims(const JobSetContext& context, Plan& plan) {
  const JobSet& jobset = context.jobset;
  for (const VolumeClaim& claim : jobset.volume_claims) {
    const std::string name = jobs::claim_name(jobset.meta.name, claim.name);
    const ObjectKey key{&kPersistentVolumeClaims, jobset.meta.ns, name};
    const PlainObject* present = context.state.find<PlainObject>(kPersistentVolumeClaims, key.ns, key.name);
    if (present != nullptr && present->meta.controller && present->meta.controller->uid == jobset.meta.uid) continue;
    if (present != nullptr || context.state.writes().has_name_conflict(key, context.now.monotonic)) {
      tell_foreign_claim(jobset, claim, name, plan);
      continue;
    }
    state::Maker maker = maker_of(jobset, "claim " + claim.name);
    if (wait_for_next_try(context, maker, plan) == Step::kDone) continue;
    plan.writes.push_back(
        {.verb = Verb::kCreate,
         .target = key,
         .body = volume_claim(jobset, claim),
         .refusal = event_about(jobset, EventReason::kPVCCreationFailed,
                                "PersistentVolumeClaim " + path_of(key.ns, key.name) + " cannot be created: "),
         .maker = std::move(maker)});
  }
}

// A Job that will be deleted without another request: a Job of this JobSet that is being replaced, or a
// remainder of a deleted JobSet with the same name.
bool will_go(const Job& job, const JobSet& jobset) {
  const auto& controller = job.meta.controller;
  return controller && jobs::job_type_of(*controller) == &kJobSets && controller->name == jobset.meta.name;
}

void tell_blocked(const JobSet& jobset, const Job& job, Plan& plan) {
  plan.events.push_back(event_about(
      jobset, EventReason::kJobCreationFailed,
      "Job " + path_of(job.meta) +
          " cannot be created, because a Job of that name exists and does not belong to this JobSet; delete that Job, "
          "or create the JobSet under another name"));
}

// The values that the API server will set for the pods' priority class.
int32_t priority_of(const state::ClusterState& state, const ReplicatedJob& replicated) {
  const PodSpecPtr& spec = replicated.pod_template.spec;
  const PriorityClass* found = spec == nullptr || spec->priority_class.empty()
                                   ? state::default_pod_priority(state)
                                   : state.find<PriorityClass>(kPriorityClasses, "", spec->priority_class);
  return found == nullptr ? 0 : found->value;
}

std::optional<int32_t> execution_attempt_in(const JobSetContext& context) {
  if (!context.settings.queues.rules.jobset_enabled(kExecutionAttemptsGate)) return std::nullopt;
  return execution_attempt_of(context.jobset);
}

ChildJobOptions options_for(const JobSetContext& context, const ReplicatedJob& replicated) {
  return {.labels_job_restarts = context.settings.labels_job_restarts || context.jobset.restarts_single_jobs(),
          .priority = priority_of(context.state, replicated),
          .execution_attempt = execution_attempt_in(context),
          .records_resources = context.settings.queues.rules.jobset_enabled(kMutableResourcesGate)};
}

// All Jobs of a replicated job have one template: what is wrong with one is wrong with each.
void create_jobs_of(const JobSetContext& context, const ReplicatedJob& replicated, size_t limit, Plan& plan) {
  const JobSet& jobset = context.jobset;
  const state::Maker owner = maker_of(jobset, "Jobs of " + replicated.name);
  if (wait_for_next_try(context, owner, plan) == Step::kDone) return;
  limit = std::min(limit, plan.writes.size() + context.state.writes().pauses().room(owner, context.now.monotonic));
  std::optional<ChildJobMaker> maker;
  for (int32_t index = 0; index < replicated.replicas && plan.writes.size() < limit; ++index) {
    const ObjectKey key{&kJobs, jobset.meta.ns, jobs::child_job_name(jobset.meta.name, replicated.name, index)};
    if (const Job* present = context.state.find<Job>(key.ns, key.name)) {
      if (!will_go(*present, jobset)) tell_blocked(jobset, *present, plan);
      continue;
    }
    // Another client has created one that the watch has not shown yet.
    if (context.state.writes().has_name_conflict(key, context.now.monotonic)) continue;
    if (!maker) maker.emplace(jobset, replicated, options_for(context, replicated));
    plan.writes.push_back({.verb = Verb::kCreate,
                           .target = key,
                           .body = maker->make(index),
                           .refusal = event_about(jobset, EventReason::kJobCreationFailed,
                                                  "Job " + path_of(key.ns, key.name) + " cannot be created: "),
                           .maker = owner});
  }
}

std::map<std::string_view, int64_t> jobs_present(const JobSetAttempt& run) {
  std::map<std::string_view, int64_t> present;
  for (const auto* jobs : {&run.active, &run.succeeded, &run.failed}) {
    for (const Job* job : *jobs) ++present[job->meta.label(kReplicatedJobNameKey)];
  }
  return present;
}

// Each Job has its own template, which can be as large as an object can be.
size_t creates_at_once(const JobSet& jobset) {
  size_t largest = 1;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs)
    largest = std::max(largest, replicated.template_text.text().size());
  return std::clamp<size_t>(kCreatedBytesAtOnce / largest, 1, kCreatesAtOnce);
}

// Asked only where a Job would start: most passes start none.
bool may_start(const JobSetContext& context, JobSetQuota& quota, Plan& plan) {
  if (quota.allows_start()) return true;
  plan.wake_at(context.now.wall + kQuotaInterval);
  return false;
}

void create_jobs(const JobSetContext& context, const jobs::StartupGates& gates, JobSetQuota& quota, Plan& plan) {
  const auto& failure = context.jobset.failure;
  const bool blocking = failure && failure->strategy == RestartStrategy::kBlockingRecreate;
  if (blocking && !context.run.older.empty()) return;
  const std::map<std::string_view, int64_t> present = jobs_present(context.run);
  // A limit for any requested number: the API server must store each of these objects.
  const size_t room = jobs::kMostJobsOfAJobSet - std::min<size_t>(jobs::kMostJobsOfAJobSet, context.run.active.size());
  const size_t limit = plan.writes.size() + std::min(creates_at_once(context.jobset), room);
  for (size_t i = 0; i < gates.open.size(); ++i) {
    const ReplicatedJob& replicated = context.jobset.replicated_jobs[i];
    const auto found = present.find(replicated.name);
    const bool complete = found != present.end() && found->second >= replicated.replicas;
    if (!gates.open[i] || complete) continue;
    if (!context.jobset.suspended && !may_start(context, quota, plan)) return;
    create_jobs_of(context, replicated, limit, plan);
  }
}

// A Job that was made by another client than muster, with the name of this JobSet's Job.
void replace(const JobSetContext& context, const Job& job, Plan& plan) {
  const size_t before = plan.writes.size();
  remake_jobs(context, {&job}, plan);
  if (plan.writes.size() == before) return;
  plan.writes.back().events = {
      event_about(context.jobset, EventReason::kJobReplaced,
                  "Job " + path_of(job.meta) +
                      " requests more than its replicated job has in the quota of this JobSet: it is deleted and "
                      "created again; a mutating webhook that changes Jobs must leave the Jobs of JobSets alone")};
}

bool would_start(const JobSet& jobset, const Job& job, const ReplicatedJob& replicated, const WantedRun& wanted) {
  if (jobset.suspended) return false;
  const bool grows = wanted.elastic && pods_at_once(job.parallelism, job.completions) <
                                           pods_at_once(replicated.parallelism, replicated.completions);
  return grows || (job.suspended && wanted.open);
}

bool requests_the_same(const state::ClusterState& state, const Job& job, const ReplicatedJob& replicated) {
  const PodSpecPtr& has = job.pod_template.spec == nullptr ? job.requests : job.pod_template.spec;
  const PodSpecPtr& wanted = replicated.pod_template.spec;
  if (has == nullptr || wanted == nullptr) return true;
  const auto one = to_requests(state::pod_requests_in(*has, job.meta.ns, state));
  const auto other = to_requests(state::pod_requests_in(*wanted, job.meta.ns, state));
  return state::is_within(one, other) && state::is_within(other, one);
}

// The template has changed since the Job was made. A Job without a record is older than the gate.
bool has_other_resources(const JobSetContext& context, const Job& job, const ReplicatedJob& replicated) {
  if (!job.suspended || !context.settings.queues.rules.jobset_enabled(kMutableResourcesGate)) return false;
  const std::string_view record = job.meta.annotation(kAppliedResourcesAnnotation);
  if (record.empty()) return !requests_the_same(context.state, job, replicated);
  const auto from = parse_json(replicated.template_text.text());
  return from && record != applied_resources(object_at(*from, {"spec", "template"}));
}

void adjust_jobs(const JobSetContext& context, const jobs::StartupGates& gates, JobSetQuota& quota, Plan& plan) {
  const std::optional<int32_t> execution_attempt = execution_attempt_in(context);
  for (const Job* job : context.run.active) {
    if (job->meta.deleting) continue;
    const ReplicatedJob* replicated = context.jobset.find(job->meta.label(kReplicatedJobNameKey));
    if (replicated == nullptr) continue;
    const auto index = replicated - context.jobset.replicated_jobs.data();
    const WantedRun wanted{.suspended = context.jobset.suspended,
                           .open = gates.open[index],
                           .records = records_templates(context.jobset),
                           .elastic = context.settings.elastic_jobsets,
                           .execution_attempt = execution_attempt};
    if (would_start(context.jobset, *job, *replicated, wanted)) {
      if (!may_start(context, quota, plan)) continue;
      if (has_other_resources(context, *job, *replicated)) {
        remake_jobs(context, {job}, plan);
        continue;
      }
      const JobSetQuota::Start start = quota.judge(*job);
      if (start == JobSetQuota::Start::kNotSo) replace(context, *job, plan);
      if (start != JobSetQuota::Start::kNow) continue;
    }
    JobAdjustment adjustment = adjustment_of(*job, *replicated, wanted);
    if (adjustment.remake) remake_jobs(context, {job}, plan);
    if (!adjustment.patch.is_null()) patch_job(*job, adjustment.verb, std::move(adjustment.patch), plan);
  }
}

}  // namespace

void keep_children(const JobSetContext& context, const jobs::StartupGates& gates, Plan& plan) {
  create_service(context, plan);
  create_claims(context, plan);
  JobSetQuota quota(context, context.jobset);
  create_jobs(context, gates, quota, plan);
  adjust_jobs(context, gates, quota, plan);
}

}  // namespace muster::reconcilers
