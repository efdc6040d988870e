#include "reconcilers/jobset/jobset.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/size_limit.h"
#include "reconcilers/jobset/jobset_adjustment.h"
#include "reconcilers/jobset/jobset_attempt.h"
#include "reconcilers/jobset/jobset_child.h"
#include "reconcilers/jobset/jobset_crd.h"
#include "reconcilers/jobset/jobset_gang.h"
#include "reconcilers/jobset/jobset_in_place.h"
#include "reconcilers/jobset/jobset_policies.h"
#include "reconcilers/jobset/jobset_quota.h"
#include "reconcilers/jobset/jobset_status.h"
#include "reconcilers/step.h"
#include "state/unsupported.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// Number of Jobs that one plan creates. The remaining Jobs are created when these exist.
constexpr size_t kCreatesAtOnce = state::WritePauses::kMostAtOnce;
// And no more of their templates, as text.
constexpr size_t kCreatedBytesAtOnce = 4 << 20;
// Until the question whether a JobSet may run is asked again, if no event does so before.
constexpr Duration kQuotaInterval = std::chrono::seconds(5);

// One pass over one JobSet.
struct JobSetContext : ReconcileContext {
  const JobSet& jobset;
  JobSetAttempt run;
};

// Of the writes for one part of what the JobSet asks for.
state::Maker maker_of(const JobSet& jobset, std::string part) {
  return {jobset.meta.uid, std::move(part)};
}

void patch_job(const Job& job, Verb verb, json patch, Plan& plan) {
  // A run is suspended as a whole or not at all: a Job that is skipped, because its status has just changed,
  // would continue as a part of the next run.
  const bool stops = patch == json{{"spec", {{"suspend", true}}}};
  if (!stops) patch = with_version(job.meta, std::move(patch));
  plan.writes.push_back({.verb = verb, .target = key_of(kJobs, job.meta), .body = std::move(patch)});
}

// `maker`: of deletes after which the Jobs are made again. While it pauses, they do not run.
void delete_jobs(const JobSetContext& context, const std::vector<const Job*>& jobs,
                 const std::optional<state::Maker>& maker, Plan& plan) {
  const bool pauses = maker && context.state.pauses().left(*maker, context.now.monotonic);
  for (const Job* job : jobs) {
    if (job->meta.deleting) continue;
    if (pauses && !job->suspended && !job->complete() && !job->failed())
      patch_job(*job, Verb::kPatch, {{"spec", {{"suspend", true}}}}, plan);
    plan.writes.push_back({.verb = Verb::kDelete,
                           .target = key_of(kJobs, job->meta),
                           .uid = job->meta.uid,
                           .propagation = Propagation::kForeground,
                           .maker = maker});
  }
}

void remake_jobs(const JobSetContext& context, const std::vector<const Job*>& jobs, Plan& plan) {
  delete_jobs(context, jobs, maker_of(context.jobset, "remade Jobs"), plan);
}

// A restart is not held up: each attempt deletes the Jobs of the attempts before it once.
void delete_older_jobs(const JobSetContext& context, Plan& plan) {
  const std::string attempt = std::to_string(context.jobset.status.restarts);
  delete_jobs(context, context.run.older, maker_of(context.jobset, "Jobs before attempt " + attempt), plan);
}

// --- Finished JobSets ---

// The zero time if no time was recorded.
Timestamp finished_at(const JobSet& jobset) {
  for (std::string_view type : {"Completed", "Failed"}) {
    const Condition* condition = find_condition(jobset.status.conditions, type);
    if (condition != nullptr && condition->is_true()) return condition->last_transition;
  }
  return {};
}

void expire(const JobSetContext& context, Plan& plan) {
  const JobSet& jobset = context.jobset;
  const Timestamp finished = finished_at(jobset);
  if (!jobset.ttl_seconds_after_finished || finished.is_zero()) return;
  const TimePoint expiry = to_time_point(finished) + std::chrono::seconds(*jobset.ttl_seconds_after_finished);
  if (context.now.wall < expiry) return plan.wake_at(expiry);
  plan.writes.push_back({.verb = Verb::kDelete,
                         .target = key_of(kJobSets, jobset.meta),
                         .body = with_version(jobset.meta, {}),
                         .uid = jobset.meta.uid,
                         .propagation = Propagation::kForeground});
}

Plan tidy_up(const JobSetContext& context) {
  Plan plan;
  delete_jobs(context, context.run.active, std::nullopt, plan);
  delete_jobs(context, context.run.older, std::nullopt, plan);
  settle_counts_of_finished(context.jobset, plan);
  if (plan.writes.empty()) expire(context, plan);
  return plan;
}

// --- Children ---

// The API server has refused such an object a moment ago. The other objects of the JobSet do not wait for it.
Step wait_for_next_try(const JobSetContext& context, const state::Maker& maker, Plan& plan) {
  const auto left = context.state.pauses().left(maker, context.now.monotonic);
  if (!left) return Step::kContinue;
  plan.wake_at(context.now.wall + *left);
  return Step::kDone;
}

void create_service(const JobSetContext& context, Plan& plan) {
  const JobSet& jobset = context.jobset;
  const ObjectKey key{&kServices, jobset.meta.ns, jobset.subdomain};
  if (!jobset.dns_hostnames || context.state.service(key.ns, key.name) != nullptr) return;
  // A Service with this name that belongs to another owner is not changed, as in JobSet.
  state::Maker maker = maker_of(jobset, "Service");
  if (context.state.taken(key, context.now.monotonic) || wait_for_next_try(context, maker, plan) == Step::kDone) return;
  plan.writes.push_back({.verb = Verb::kCreate,
                         .target = key,
                         .body = headless_service(jobset),
                         .refusal = event_about(jobset, kWarningEvent, "HeadlessServiceCreationFailed",
                                                "Service " + path_of(key.ns, key.name) + " cannot be created: "),
                         .maker = std::move(maker)});
}

void tell_foreign_claim(const JobSet& jobset, const VolumeClaim& claim, const std::string& name, Plan& plan) {
  if (claim.retained) return;
  plan.events.push_back(event_about(
      jobset, kWarningEvent, "PVCCreationFailed",
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
    const PlainObject* present = context.state.plain(kPersistentVolumeClaims, key.ns, key.name);
    if (present != nullptr && present->meta.controller && present->meta.controller->uid == jobset.meta.uid) continue;
    if (present != nullptr || context.state.taken(key, context.now.monotonic)) {
      tell_foreign_claim(jobset, claim, name, plan);
      continue;
    }
    state::Maker maker = maker_of(jobset, "claim " + claim.name);
    if (wait_for_next_try(context, maker, plan) == Step::kDone) continue;
    plan.writes.push_back(
        {.verb = Verb::kCreate,
         .target = key,
         .body = volume_claim(jobset, claim),
         .refusal = event_about(jobset, kWarningEvent, "PVCCreationFailed",
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
      jobset, kWarningEvent, "JobCreationFailed",
      "Job " + path_of(job.meta) +
          " cannot be created, because a Job of that name exists and does not belong to this JobSet; delete that Job, "
          "or create the JobSet under another name"));
}

// The values that the API server will set for the pods' priority class.
int32_t priority_of(const state::ClusterState& state, const ReplicatedJob& replicated) {
  const PodSpecPtr& spec = replicated.pod_template.spec;
  const PriorityClass* found = spec == nullptr || spec->priority_class.empty()
                                   ? state.default_pod_priority()
                                   : state.priority_class(kPriorityClasses, spec->priority_class);
  return found == nullptr ? 0 : found->value;
}

ChildJobOptions options_for(const JobSetContext& context, const ReplicatedJob& replicated) {
  return {.labels_job_restarts = context.settings.labels_job_restarts || context.jobset.restarts_single_jobs(),
          .priority = priority_of(context.state, replicated)};
}

// All Jobs of a replicated job have one template: what is wrong with one is wrong with each.
void create_jobs_of(const JobSetContext& context, const ReplicatedJob& replicated, size_t limit, Plan& plan) {
  const JobSet& jobset = context.jobset;
  const state::Maker owner = maker_of(jobset, "Jobs of " + replicated.name);
  if (wait_for_next_try(context, owner, plan) == Step::kDone) return;
  limit = std::min(limit, plan.writes.size() + context.state.pauses().room(owner, context.now.monotonic));
  std::optional<ChildJobMaker> maker;
  for (int32_t index = 0; index < replicated.replicas && plan.writes.size() < limit; ++index) {
    const ObjectKey key{&kJobs, jobset.meta.ns, jobs::child_job_name(jobset.meta.name, replicated.name, index)};
    if (const Job* present = context.state.job(key.ns, key.name)) {
      if (!will_go(*present, jobset)) tell_blocked(jobset, *present, plan);
      continue;
    }
    // Another client has created one that the watch has not shown yet.
    if (context.state.taken(key, context.now.monotonic)) continue;
    if (!maker) maker.emplace(jobset, replicated, options_for(context, replicated));
    plan.writes.push_back({.verb = Verb::kCreate,
                           .target = key,
                           .body = maker->make(index),
                           .refusal = event_about(jobset, kWarningEvent, "JobCreationFailed",
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

void create_jobs(const JobSetContext& context, const StartupGates& gates, Plan& plan) {
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
    if (gates.open[i] && !complete) create_jobs_of(context, replicated, limit, plan);
  }
}

// A Job that was made by another client than muster, with the name of this JobSet's Job.
void replace(const JobSetContext& context, const Job& job, Plan& plan) {
  const size_t before = plan.writes.size();
  remake_jobs(context, {&job}, plan);
  if (plan.writes.size() == before) return;
  plan.writes.back().events = {
      event_about(context.jobset, kWarningEvent, "JobReplaced",
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

void adjust_jobs(const JobSetContext& context, const StartupGates& gates, JobSetQuota& quota, Plan& plan) {
  for (const Job* job : context.run.active) {
    if (job->meta.deleting) continue;
    const ReplicatedJob* replicated = context.jobset.find(job->meta.label(kReplicatedJobNameKey));
    if (replicated == nullptr) continue;
    const auto index = replicated - context.jobset.replicated_jobs.data();
    const WantedRun wanted{
        .suspended = context.jobset.suspended, .open = gates.open[index], .elastic = context.settings.elastic_jobsets};
    if (would_start(context.jobset, *job, *replicated, wanted)) {
      const JobSetQuota::Start start = quota.judge(*job);
      if (start == JobSetQuota::Start::kNotSo) replace(context, *job, plan);
      if (start != JobSetQuota::Start::kNow) continue;
    }
    JobAdjustment adjustment = adjustment_of(*job, *replicated, wanted);
    if (adjustment.remake) remake_jobs(context, {job}, plan);
    if (!adjustment.patch.is_null()) patch_job(*job, adjustment.verb, std::move(adjustment.patch), plan);
  }
}

// --- The whole ---

void set_conditions(const JobSet& jobset, const StartupGates& gates, StatusDraft& draft) {
  if (jobset.suspended) return draft.suspend();
  if (jobset.in_order && gates.in_progress) return draft.startup_in_progress();
  if (jobset.in_order) draft.startup_completed();
  draft.resume();
}

// Failures and successes that end or restart the JobSet.
Step judge(const JobSetContext& context, const GangFailures& failures, StatusDraft& draft) {
  if (failures.being_failed) return Step::kDone;
  const Verdict verdict = judge_failures(context.jobset, failures.genuine);
  if (verdict.kind == Verdict::Kind::kFail) {
    draft.fail(verdict);
  } else if (verdict.kind == Verdict::Kind::kRestart) {
    draft.restart(verdict);
  } else if (verdict.kind == Verdict::Kind::kRestartJob) {
    draft.restart_job(verdict);
  } else if (context.run.failed.empty() && has_succeeded(context.jobset, context.run.succeeded)) {
    draft.complete();
  } else {
    return Step::kContinue;
  }
  return Step::kDone;
}

// A JobSet that requests a feature that muster does not support. Existing Jobs run to their end: a restart or
// an end by failure would be a guess. They are stopped when the JobSet is suspended, since their quota is
// released then.
Plan hold_jobset(const JobSetContext& context) {
  Plan plan;
  const std::vector<ReplicatedJobStatus> counts = count_jobs(context.jobset, context.run);
  StartupGates gates = startup_gates(context.jobset, context.run, counts);
  gates.open.assign(gates.open.size(), false);
  StatusDraft draft(context.jobset, counts, context.now);
  draft.unsupported(context.jobset.unsupported);
  if (context.run.failed.empty() && has_succeeded(context.jobset, context.run.succeeded)) {
    draft.complete();
  } else if (context.jobset.suspended) {
    for (const Job* job : context.run.active) {
      if (!job->suspended && !job->meta.deleting) patch_job(*job, Verb::kPatch, {{"spec", {{"suspend", true}}}}, plan);
    }
    draft.suspend();
  }
  draft.write_into(plan, gates);
  return plan;
}

// A Job from a time when another controller ran the JobSet: muster does not see its pods.
void tell_unseen_pods(const JobSetContext& context, Plan& plan) {
  const auto unseen = std::find_if(context.run.active.begin(), context.run.active.end(), [](const Job* job) {
    return job->meta.label(kInPlaceRestartLabel).empty() && !job->meta.deleting;
  });
  if (unseen == context.run.active.end()) return;
  plan.events.push_back(event_about(
      context.jobset, kWarningEvent, "InPlaceRestartUnavailable",
      "Job " + path_of((*unseen)->meta) +
          " was created by another controller, so muster does not see the attempts of its pods, and a pod "
          "that restarts waits at the barrier; delete the Jobs of this JobSet, and muster creates them again"));
}

// The barrier of in-place restarts.
Step restart_in_place(const JobSetContext& context, StatusDraft& draft, Plan& plan) {
  const ObjectMeta& meta = context.jobset.meta;
  if (!context.jobset.restarts_in_place()) return Step::kContinue;
  tell_unseen_pods(context, plan);
  const InPlaceBarrier barrier =
      barrier_of(context.jobset, context.run, context.state.in_place_pods(meta.ns, meta.name));
  if (barrier.exhausted) {
    draft.fail(too_many_restarts_in_place());
    return Step::kDone;
  }
  draft.in_place_attempts(barrier.current, barrier.previous);
  return Step::kContinue;
}

Plan run_jobset(const JobSetContext& context) {
  Plan plan;
  delete_older_jobs(context, plan);
  const std::vector<ReplicatedJobStatus> counts = count_jobs(context.jobset, context.run);
  const StartupGates gates = startup_gates(context.jobset, context.run, counts);
  StatusDraft draft(context.jobset, counts, context.now);
  draft.supported();
  const GangFailures failures = sort_failures(context.jobset, context.run, context.state);
  if (judge(context, failures, draft) == Step::kContinue && restart_in_place(context, draft, plan) == Step::kContinue) {
    remake_jobs(context, failures.to_be_remade, plan);
    create_service(context, plan);
    create_claims(context, plan);
    JobSetQuota quota(context, context.jobset);
    if (context.jobset.suspended || quota.allows_start())
      create_jobs(context, gates, plan);
    else
      plan.wake_at(context.now.wall + kQuotaInterval);
    adjust_jobs(context, gates, quota, plan);
    set_conditions(context.jobset, gates, draft);
    if (!context.jobset.suspended) draft.all_jobs_ready();
  }
  draft.write_into(plan, gates);
  return plan;
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  if (!context.settings.native_jobsets || key.type->plural != kJobSets.plural || definition_is_foreign(context.state))
    return {};
  const JobSet* jobset = context.state.jobset(key.ns, key.name);
  if (jobset == nullptr || jobset->meta.deleting) return {};
  if (!jobs::jobset.is_managed_by(jobset->managed_by) || state::is_outside_webhooks(key.ns, context.settings))
    return {};
  const JobSetContext pass{context, *jobset, jobs_of(*jobset, context.state)};
  if (jobset->finished()) return tidy_up(pass);
  return jobset->unsupported.empty() ? run_jobset(pass) : hold_jobset(pass);
}

// A Job's name can be a name that a JobSet needs: <jobset>-<replicated job>-<index>. Each part can contain
// dashes.
void enqueue_by_name(const state::ClusterState& state, const ObjectMeta& job, std::vector<ObjectKey>& keys) {
  const std::string_view name = job.name;
  size_t end = name.rfind('-');
  while (end != std::string_view::npos && end != 0 && (end = name.rfind('-', end - 1)) != std::string_view::npos) {
    const std::string_view candidate = name.substr(0, end);
    if (state.jobset(job.ns, candidate) != nullptr) keys.push_back({&kJobSets, job.ns, std::string(candidate)});
  }
}

void enqueue_controller(const ObjectMeta& meta, std::vector<ObjectKey>& keys) {
  const auto& controller = meta.controller;
  if (controller && jobs::job_type_of(*controller) == &kJobSets) keys.push_back({&kJobSets, meta.ns, controller->name});
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  const ObjectMeta& meta = meta_of(object);
  if (std::holds_alternative<JobSetPtr>(object)) {
    keys.push_back(key_of(object));
  } else if (std::holds_alternative<JobPtr>(object)) {
    enqueue_controller(meta, keys);
    enqueue_by_name(state, meta, keys);
  } else if (std::holds_alternative<ConfigMapPtr>(object)) {
    enqueue_controller(meta, keys);
  } else if (std::holds_alternative<InPlacePodPtr>(object)) {
    const std::string_view jobset = meta.label(kJobSetNameKey);
    if (!jobset.empty()) keys.push_back({&kJobSets, meta.ns, std::string(jobset)});
  } else if (type_of(object).plural == kPersistentVolumeClaims.plural) {
    // A deleted object is created again, also if the JobSet did not own it.
    const std::string_view jobset = meta.label(kJobSetNameKey);
    if (!jobset.empty()) keys.push_back({&kJobSets, meta.ns, std::string(jobset)});
  } else if (std::holds_alternative<ServicePtr>(object)) {
    for (const JobSet* jobset : state.jobsets_of_subdomain(meta.ns, meta.name)) {
      keys.push_back(key_of(kJobSets, jobset->meta));
    }
  }
}

}  // namespace

const Reconciler jobset_reconciler = {.name = "jobset", .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
