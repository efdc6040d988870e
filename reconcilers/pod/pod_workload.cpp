#include "reconcilers/pod/pod_workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "jobs/management.h"
#include "jobs/pod/pod_group.h"
#include "jobs/prebuilt_workload.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_indexes.h"
#include "reconcilers/job/job_workload_choice.h"
#include "reconcilers/job/job_workload_infos.h"
#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/pod/pod_context.h"
#include "reconcilers/pod/pod_workload_make.h"
#include "reconcilers/pod/pod_workload_run.h"
#include "reconcilers/pod/pod_workload_steps.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

constexpr Duration kUndecidedInterval = std::chrono::seconds(5);
constexpr std::string_view kFramework = "pod";

constexpr const char* kNotMatching = "No matching Workload; restoring pod templates according to existent Workload";
constexpr const char* kMissing = "Missing Workload; unable to restore pod templates";

bool is_over(const Workload& workload) {
  return workload.finished() || workload.meta.deleting;
}

// Whether the queues have to do with these pods at all.
Result<bool, jobs::Undecided> is_queued(const PodContext& context) {
  const ObjectMeta& meta = context.group.meta;
  const bool asks = !context.job.job.queue_name().empty() || context.rules().manage_jobs_without_queue_name;
  // The parent that created it was already checked.
  if (!meta.annotation(kSuspendingParent).empty()) return asks;
  const TypedObject* ns = context.job.state.find(kNamespaces, "", meta.ns);
  const auto managed =
      jobs::in_managed_namespace(context.rules(), meta.ns, ns == nullptr ? nullptr : &meta_of(*ns).labels);
  if (!managed) return fail_with(managed.error());
  if (!*managed) return false;
  const jobs::MaybeAncestor ancestor = ancestor_of(context.job, kQueuedPods, meta);
  if (!ancestor) return fail_with(ancestor.error());
  // The Workload of its owner counts it.
  return asks && !*ancestor;
}

// The pass runs again when an unknown namespace or owner becomes known.
Step leave_unqueued(const PodContext& context, Plan& plan) {
  const auto queued = is_queued(context);
  if (!queued) {
    tell_of_owners(context.job, queued.error(), plan);
    plan.wake_at(context.job.now.wall + kUndecidedInterval);
  }
  return queued && *queued ? Step::kContinue : Step::kDone;
}

// --- Without a Workload ---

// A pod that already runs was not admitted.
Step stop_unadmitted(const PodContext& context, const char* message, Plan& plan) {
  return stop_pods(context, WhichPods::kRunning, "NoMatchingWorkload", message, plan);
}

Step reconcile_without_workload(const PodContext& context, Plan& plan) {
  if (jobs::end_of(context.group)) {
    drop_kueue_finalizers(context.group.pods, plan);
    return Step::kDone;
  }
  if (stop_unadmitted(context, kMissing, plan) == Step::kDone) return Step::kDone;
  if (!context.group.active && !context.is_of_set() &&
      !jobs::prebuilt_workload_name_of(context.rules(), context.group.meta))
    make_workload(context, plan);
  return Step::kDone;
}

// --- Which Workload it is ---

// None of these Workloads matches the pods.
Step reconcile_without_match(const PodContext& context, const std::vector<const Workload*>& others, Plan& plan) {
  const char* why = others.size() == 1 ? kNotMatching : kMissing;
  if (!jobs::end_of(context.group) && stop_unadmitted(context, why, plan) == Step::kDone) return Step::kDone;
  const Workload* first = others.front();
  if (!context.is_group() && !first->has_quota_reserved() && !is_over(*first) && jobs::suspended(context.group)) {
    remake_workload(context, *first, plan);
    return Step::kDone;
  }
  if (context.group.active) return Step::kDone;
  for (const Workload* other : others) remove_workload(context.job, *other, plan);
  // Its pods are deleted with it, and a controller makes them again.
  for (Write& write : plan.writes) {
    if (context.is_group() && write.verb == Verb::kDelete) write.maker = maker_in(context.group, "Workloads");
  }
  return Step::kDone;
}

// One that its user has made.
Step reconcile_prebuilt(const PodContext& context, std::string_view name, Plan& plan) {
  const Workload* workload = context.job.state.find<Workload>(context.group.meta.ns, name);
  const bool suits = workload != nullptr && (is_over(*workload) || is_equivalent(context.job, *workload));
  if (!suits && !jobs::end_of(context.group) && stop_unadmitted(context, kNotMatching, plan) == Step::kDone)
    return Step::kDone;
  const WorkloadChoice choice = keep_one_workload(context.job, plan);
  if (choice.step == Step::kDone) return Step::kDone;
  return choice.workload == nullptr ? reconcile_without_workload(context, plan)
                                    : reconcile_workload(context, *choice.workload, 0, plan);
}

Step reconcile_single(const PodContext& context, Plan& plan) {
  if (const auto prebuilt = jobs::prebuilt_workload_name_of(context.rules(), context.group.meta))
    return reconcile_prebuilt(context, prebuilt->name, plan);
  const std::vector<const Workload*> owned =
      context.job.state.by(state::kWorkloadsByOwner, {"", context.group.meta.uid});
  std::vector<const Workload*> others;
  const Workload* match = nullptr;
  for (const Workload* workload : owned) {
    if (match == nullptr && is_equivalent(context.job, *workload))
      match = workload;
    else
      others.push_back(workload);
  }
  if (match == nullptr && owned.empty()) return reconcile_without_workload(context, plan);
  if (match == nullptr) return reconcile_without_match(context, others, plan);
  for (const Workload* other : others) remove_workload(context.job, *other, plan);
  return others.empty() ? reconcile_workload(context, *match, 0, plan) : Step::kDone;
}

// Its pod is going. While the node is in use, so is the quota.
Step leave_with_deleted(const PodContext& context, Plan& plan) {
  const QueuedPod& pod = *context.group.pods.front();
  if (!pod.meta.deleting) return Step::kContinue;
  if (context.group.active) {
    plan.wake_at(jobs::end_of_grace(pod));
    return Step::kDone;
  }
  for (const Workload* workload : context.job.state.by(state::kWorkloadsByOwner, {"", pod.meta.uid})) {
    const Condition* evicted = find_condition(workload->status.conditions, kEvictedCondition);
    if (evicted != nullptr && evicted->is_true() && !workload->finished()) {
      if (workload->has_quota_reserved()) release_evicted(context.job, *workload, *evicted, false, plan);
    } else if (!workload->finished()) {
      finish_workload(context.job, *workload, kOwnerNotFoundReason, "The workload's owner no longer exists", plan);
    } else {
      drop_in_use_finalizer(kWorkloads, workload->meta, plan);
    }
  }
  if (plan.writes.empty()) drop_kueue_finalizers(context.group.pods, plan);
  return Step::kDone;
}

// Every pod of a group owns its Workload, so that garbage collection keeps the Workload until the last pod is
// deleted.
void own(const std::vector<QueuedPodPtr>& pods, const Workload& workload, Plan& plan) {
  json owners = json::parse(workload.group_owners_text);
  const size_t before = owners.size();
  for (const QueuedPodPtr& pod : pods) {
    const bool there = std::any_of(owners.begin(), owners.end(),
                                   [&](const json& owner) { return owner.value("uid", "") == pod->meta.uid; });
    if (!there) owners.push_back(plain_owner(*pod));
  }
  if (owners.size() == before) return;
  const size_t added = owners.size() - before;
  Write write = patch_workload(workload, Verb::kPatch, {{"metadata", {{"ownerReferences", std::move(owners)}}}});
  write.events = {event_about(kWorkloads, workload.meta, EventReason::kOwnerReferencesAdded,
                              "Added " + std::to_string(added) + " owner reference(s)")};
  plan.writes.push_back(std::move(write));
}

Step reconcile_group(const PodContext& context, const Workload* made, Plan& plan) {
  const Workload& workload = *made;
  const bool same_limit = workload.maximum_execution_seconds == context.job.job.maximum_execution_seconds();
  jobs::GroupMatch found = jobs::match(context.group, workload, context.job.stamp());
  if (!context.is_of_set() && (!same_limit || !found.suits)) return reconcile_without_match(context, {&workload}, plan);
  // Pods that no Workload counts: none of them runs.
  if (found.kept.empty()) {
    return is_over(workload) ? reconcile_workload(context, workload, 0, plan)
                             : stop_unadmitted(context, kNotMatching, plan);
  }
  if (!is_over(workload)) {
    own(found.kept, workload, plan);
    remove_excess(context, found.excess, plan);
    if (!plan.writes.empty()) return Step::kDone;
  }
  PodGroup kept = context.group;
  kept.pods = std::move(found.kept);
  const Step step = with_context(std::move(kept), context.job, [&](const PodContext& left) {
    return reconcile_workload(left, workload, found.absent, plan);
  });
  if (plan.writes.empty()) drop_kueue_finalizers(found.replaced, plan);
  return step;
}

// A Workload of another job has the name of the group.
Step tell_conflict(const PodContext& context, const Workload* workload, Plan& plan) {
  if (workload->of_pod_group()) return Step::kContinue;
  plan.wake_at(context.job.now.wall + kNameConflictInterval);
  plan.events.push_back(context.job.event(EventReason::kWorkloadNameConflict,
                                          "A Workload named \"" + context.group.group +
                                              "\" already exists but is not a pod group workload; this pod group "
                                              "cannot be admitted"));
  return last(stop_unadmitted(context, kMissing, plan));
}

constexpr Step (*kStepsOfPod[])(const PodContext&, Plan&) = {leave_with_deleted, leave_unqueued, reconcile_single};

Plan reconcile_pod(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const QueuedPodPtr pod = context.state.share<QueuedPod>(key.ns, key.name);
  // Pods of a set wait until they have the labels of their group.
  if (pod == nullptr || !jobs::is_managed(*pod) || !pod->group().empty() || jobs::is_of_serving_set(*pod)) return plan;
  with_context(jobs::make_pod_group({pod}, "", context.queues().rules, context.now.wall), context,
               [&](const PodContext& pods) { run_pass(kStepsOfPod, pods, plan); });
  return plan;
}

Step leave_unqueued_group(const PodContext& context, const Workload*, Plan& plan) {
  return leave_unqueued(context, plan);
}

// Grace periods end without an event.
Step wake_after_graces(const PodContext& context, const Workload*, Plan& plan) {
  for (const QueuedPodPtr& pod : context.group.pods) {
    if (pod->meta.deleting && jobs::uses_node(*pod, context.rules(), context.job.now.wall))
      plan.wake_at(jobs::end_of_grace(*pod));
  }
  return Step::kContinue;
}

// Ends the pass if the group has no Workload.
Step make_missing(const PodContext& context, const Workload* workload, Plan& plan) {
  return workload == nullptr ? reconcile_without_workload(context, plan) : Step::kContinue;
}

// Of a group and the Workload of its name, which is null only until make_missing().
constexpr Step (*kStepsOfGroup[])(const PodContext&, const Workload*, Plan&) = {
    leave_unqueued_group, wake_after_graces, make_missing, tell_conflict, reconcile_group};

// And not by a StatefulSet or LeaderWorkerSet, which makes its pods again.
bool is_owned_by_pods(const Workload& workload) {
  const json owners = json::parse(workload.group_owners_text);
  return std::all_of(owners.begin(), owners.end(),
                     [](const json& owner) { return owner.value("kind", "") == kQueuedPods.kind; });
}

// No pod is left that could own the Workload or that it could count. Garbage collection deletes it, later.
Plan reconcile_empty_group(const Workload* workload, const ReconcileContext& context) {
  Plan plan;
  if (workload == nullptr || !workload->of_pod_group()) return plan;
  const Condition* evicted = find_condition(workload->status.conditions, kEvictedCondition);
  if (is_over(*workload)) {
    drop_in_use_finalizer(kWorkloads, workload->meta, plan);
  } else if (workload->has_quota_reserved() && evicted != nullptr && evicted->is_true() &&
             is_owned_by_pods(*workload)) {
    release_evicted(context, *workload, *evicted, false, plan);
  }
  return plan;
}

Plan reconcile_pods(const ObjectKey& key, const ReconcileContext& context) {
  const Workload* workload = context.state.find<Workload>(key.ns, key.name);
  std::vector<QueuedPodPtr> pods = context.state.share_by(state::kPodsByGroup, {key.ns, key.name});
  if (pods.empty()) return reconcile_empty_group(workload, context);
  Plan plan;
  PodGroup group = jobs::make_pod_group(std::move(pods), key.name, context.queues().rules, context.now.wall);
  if (workload != nullptr && workload->of_pod_group())
    group.gone = jobs::gone_pods(group, jobs::read_succeeded(workload->meta.annotation(kSucceededPodsAnnotation)),
                                 workload->pod_sets);
  with_context(std::move(group), context,
               [&](const PodContext& of_group) { run_pass(kStepsOfGroup, of_group, workload, plan); });
  return plan;
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  if (!context.queues().rules.frameworks.contains(kFramework)) return {};
  if (*key.type == kQueuedPods) return reconcile_pod(key, context);
  if (*key.type == kPodGroups) return reconcile_pods(key, context);
  return {};
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (const auto* pod = std::get_if<QueuedPodPtr>(&object)) {
    const std::string group((*pod)->group());
    if (group.empty())
      keys.push_back(key_of(object));
    else
      keys.push_back({&kPodGroups, (*pod)->meta.ns, group});
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    const ObjectMeta& meta = (*workload)->meta;
    if (!meta.controller) {
      keys.push_back({&kPodGroups, meta.ns, meta.name});
      for (const TypedObject* job : state.by(kJobsByPrebuiltWorkload, {meta.ns, meta.name})) {
        if (type_of(*job) == kQueuedPods) keys.push_back(key_of(*job));
      }
    } else if (meta.controller->kind == kQueuedPods.kind && meta.controller->api_version == kQueuedPods.api_version) {
      keys.push_back({&kQueuedPods, meta.ns, meta.controller->name});
    }
  }
}

constexpr const ResourceType* kKinds[] = {&kQueuedPods, &kPodGroups};

}  // namespace

const Reconciler pod_workload_reconciler = {
    .name = "pod_workload", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
