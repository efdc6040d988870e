#include "reconcilers/jobset/jobset.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/config/feature_gates.h"
#include "api/config_map.h"
#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "reconcilers/jobset/jobset_children.h"
#include "reconcilers/jobset/jobset_context.h"
#include "reconcilers/jobset/jobset_crd.h"
#include "reconcilers/jobset/jobset_gang.h"
#include "reconcilers/jobset/jobset_in_place.h"
#include "reconcilers/jobset/jobset_indexes.h"
#include "reconcilers/jobset/jobset_policies.h"
#include "reconcilers/jobset/jobset_status.h"
#include "reconcilers/step.h"
#include "state/unsupported.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

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

// Another controller runs the JobSet, and says when it has ended.
Plan expire_only(const JobSetContext& context) {
  Plan plan;
  if (context.jobset.finished()) expire(context, plan);
  return plan;
}

// --- The whole ---

void set_conditions(const JobSet& jobset, const jobs::StartupGates& gates, StatusDraft& draft) {
  if (jobset.suspended) return draft.suspend();
  if (jobset.in_order && gates.in_progress) return draft.startup_in_progress();
  if (jobset.in_order) draft.startup_completed();
  draft.resume();
}

// Failures, successes and the deadline, which end or restart the JobSet.
Step judge(const JobSetContext& context, const GangFailures& failures, StatusDraft& draft, Plan& plan) {
  if (failures.being_failed) return Step::kDone;
  if (const auto deadline = draft.deadline()) {
    // Before the failure policy, which could restart the JobSet; but what has succeeded in time has succeeded.
    if (context.now.wall >= *deadline) {
      if (has_succeeded(context.jobset, context.run.succeeded))
        draft.complete();
      else
        draft.exceed_deadline();
      return Step::kDone;
    }
    plan.wake_at(*deadline);
  }
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
  jobs::StartupGates gates = startup_gates(context.jobset, context.run, counts);
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
      context.jobset, EventReason::kInPlaceRestartUnavailable,
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
      barrier_of(context.jobset, context.run, context.state.by(kInPlacePodsByJobSet, {meta.ns, meta.name}));
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
  const jobs::StartupGates gates = startup_gates(context.jobset, context.run, counts);
  StatusDraft draft(context.jobset, counts, context.now);
  draft.supported();
  const RuleSettings& rules = context.settings.queues.rules;
  draft.keep_start_time(rules.jobset_enabled(kJobSetDeadlineGate));
  if (!context.jobset.suspended && rules.jobset_enabled(kExecutionAttemptsGate)) draft.count_execution();
  const GangFailures failures = sort_failures(context.jobset, context.run, context.state);
  if (judge(context, failures, draft, plan) == Step::kContinue &&
      restart_in_place(context, draft, plan) == Step::kContinue) {
    remake_jobs(context, failures.to_be_remade, plan);
    keep_children(context, gates, plan);
    set_conditions(context.jobset, gates, draft);
    if (!context.jobset.suspended) draft.all_jobs_ready();
  }
  draft.write_into(plan, gates);
  return plan;
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  if (!context.queues().rules.runs_jobsets() || definition_is_foreign(context.state)) return {};
  const JobSet* jobset = context.state.find<JobSet>(key.ns, key.name);
  if (jobset == nullptr || jobset->meta.deleting) return {};
  if (state::is_outside_webhooks(key.ns, context.settings)) return {};
  if (!jobs::jobset.is_managed_by(jobset->managed_by)) return expire_only({context, *jobset, {}});
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
    if (state.find<JobSet>(job.ns, candidate) != nullptr) keys.push_back({&kJobSets, job.ns, std::string(candidate)});
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
  } else if (type_of(object) == kPersistentVolumeClaims) {
    // A deleted object is created again, also if the JobSet did not own it.
    const std::string_view jobset = meta.label(kJobSetNameKey);
    if (!jobset.empty()) keys.push_back({&kJobSets, meta.ns, std::string(jobset)});
  } else if (std::holds_alternative<ServicePtr>(object)) {
    for (const JobSet* jobset : state.by(kJobSetsBySubdomain, {meta.ns, meta.name})) {
      keys.push_back(key_of(kJobSets, jobset->meta));
    }
  }
}

constexpr const ResourceType* kKinds[] = {&kJobSets};

}  // namespace

const Reconciler jobset_reconciler = {
    .name = "jobset", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
