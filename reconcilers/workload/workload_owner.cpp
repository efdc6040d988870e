#include "reconcilers/workload/workload_owner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/texts/workload_texts.h"
#include "jobs/job_kind.h"
#include "reconcilers/in_use.h"
#include "reconcilers/workload/pods_left.h"
#include "reconcilers/workload/workload_editor.h"

namespace muster::reconcilers {
namespace {

enum class Owner { kNone, kThere, kGone };

Owner owner_of(const Workload& workload, const state::ClusterState& state, const RuleSettings& rules) {
  const auto& owner = workload.meta.controller;
  if (!owner) return Owner::kNone;
  // Its controller stops the pods first and then removes the finalizer. Until then the quota is in use.
  if (rules.is_external(owner->api_version, owner->kind)) return Owner::kThere;
  // No other controller processes Workloads of other kinds.
  const jobs::JobKind* kind = jobs::find_owner_kind(*owner, rules);
  if (kind == nullptr) return Owner::kGone;
  const TypedObject* object = state.find(kind->type, workload.meta.ns, owner->name);
  return object != nullptr && meta_of(*object).uid == owner->uid ? Owner::kThere : Owner::kGone;
}

// muster has deactivated it, and not a person.
const Condition* deactivated(const Workload& workload) {
  const Condition* evicted = find_condition(workload.status.conditions, kEvictedCondition);
  const bool by_muster = evicted != nullptr && evicted->is_true() && deactivation_cause(evicted->reason);
  return by_muster && !workload.active ? evicted : nullptr;
}

// kContinue: its time is over.
Step await_retention(Timestamp since, Duration kept, Now now, Plan& plan) {
  const TimePoint end = to_time_point(since) + kept;
  if (end <= now.wall) return Step::kContinue;
  plan.wake_at(end);
  return Step::kDone;
}

// A finished Workload.
void delete_when_over(const Workload& workload, const QueueSettings& settings, Now now, Plan& plan) {
  const Condition* finished = find_condition(workload.status.conditions, kFinishedCondition);
  if (!settings.retain_finished || workload.meta.deleting ||
      await_retention(finished->last_transition, *settings.retain_finished, now, plan) == Step::kDone)
    return;
  drop_in_use_finalizer(kWorkloads, workload.meta, plan);
  if (!plan.writes.empty()) return;
  plan.writes.push_back(
      {.verb = Verb::kDelete,
       .target = key_of(kWorkloads, workload.meta),
       .body = with_version(workload.meta, {}),
       .uid = workload.meta.uid,
       .events = {event_about(workload, EventReason::kDeleted, "Deleted finished workload due to elapsed retention")}});
}

// The job is gone, and its pods can still be there: they end, or they were orphaned.
Step keep_while_in_use(const Workload& workload, const ReconcileContext& context, Plan& plan) {
  if (workload.finished() || !workload.has_quota_reserved()) return Step::kContinue;
  const DeletedJob job = gone_job_of(workload);
  if (workload.meta.controller && job.kind == nullptr) return Step::kContinue;
  if (workload.evicted() || !workload.active) suspend_orphans(job, context, plan);
  if (!plan.writes.empty()) return Step::kDone;
  return has_pods_left(job, context, plan) ? Step::kDone : Step::kContinue;
}

}  // namespace

Step reconcile_ownerless(const Workload& workload, const ReconcileContext& context, Plan& plan) {
  const RuleSettings& rules = context.queues().rules;
  // Its pods are deleted first (reconcilers/pod).
  if (workload.of_pod_group() && rules.frameworks.contains("pod")) return Step::kContinue;
  const Owner owner = owner_of(workload, context.state, rules);
  if (owner == Owner::kThere) return Step::kContinue;
  // Garbage collection ignores a Workload without an owner reference. It is an orphan only if it had an owner,
  // whose uid is in its label.
  const bool orphaned = owner == Owner::kNone && !workload.meta.label(kJobUidLabel).empty();
  if (!workload.meta.deleting && !orphaned) return Step::kContinue;
  if (keep_while_in_use(workload, context, plan) == Step::kDone) return Step::kDone;
  if (workload.meta.deleting) {
    drop_in_use_finalizer(kWorkloads, workload.meta, plan);
    return Step::kDone;
  }
  if (workload.finished()) {
    drop_in_use_finalizer(kWorkloads, workload.meta, plan);
    return plan.writes.empty() ? Step::kContinue : Step::kDone;
  }
  WorkloadEditor editor(workload, context);
  editor.finish(kOwnerNotFoundReason, "The workload's owner no longer exists");
  editor.write_into(plan);
  return Step::kDone;
}

Step reconcile_retention(const Workload& workload, const ReconcileContext& context, Plan& plan) {
  const QueueSettings& settings = context.queues();
  if (workload.finished()) {
    delete_when_over(workload, settings, context.now, plan);
    return Step::kDone;
  }
  const Condition* evicted = deactivated(workload);
  const auto& owner = workload.meta.controller;
  if (evicted == nullptr || !owner || !settings.retain_deactivated) return Step::kContinue;
  const jobs::JobKind* kind = jobs::find_owner_kind(*owner, settings.rules);
  if (kind == nullptr ||
      await_retention(evicted->last_transition, *settings.retain_deactivated, context.now, plan) == Step::kDone)
    return Step::kContinue;
  ObjectEvent event = event_about(*owner, workload.meta.ns, EventReason::kDeleted,
                                  "Deleted job: deactivation retention period expired");
  // If a user has activated it in the meantime, it can have started.
  const TypedObject* job = context.state.find(kind->type, workload.meta.ns, owner->name);
  plan.writes.push_back({.verb = Verb::kDelete,
                         .target = {&kind->type, workload.meta.ns, owner->name},
                         .body = job == nullptr ? nlohmann::json() : with_version(meta_of(*job), {}),
                         .uid = owner->uid,
                         .events = {std::move(event)}});
  return Step::kDone;
}

}  // namespace muster::reconcilers
