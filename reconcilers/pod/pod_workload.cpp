#include "reconcilers/pod/pod_workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "jobs/management.h"
#include "jobs/pod/pod_group.h"
#include "jobs/prebuilt_workload.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_workload_choice.h"
#include "reconcilers/job/job_workload_infos.h"
#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/pod/pod_scene.h"
#include "reconcilers/pod/pod_workload_make.h"
#include "reconcilers/pod/pod_workload_run.h"
#include "reconcilers/pod/pod_workload_steps.h"
#include "reconcilers/workload/job_workload_status.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr Duration kUndecidedInterval = std::chrono::seconds(5);
constexpr Duration kTakenInterval = std::chrono::seconds(30);
constexpr std::string_view kFramework = "pod";

constexpr const char* kNotMatching = "No matching Workload; restoring pod templates according to existent Workload";
constexpr const char* kMissing = "Missing Workload; unable to restore pod templates";

bool is_over(const Workload& workload) {
  return workload.finished() || workload.meta.deleting;
}

// Whether the queues have to do with these pods at all.
Result<bool, Undecided> is_queued(const PodScene& scene) {
  const ObjectMeta& meta = scene.group.meta;
  const bool asks = !scene.job.job.queue_name().empty() || scene.rules().manage_jobs_without_queue_name;
  // Whoever made it has been asked.
  if (!meta.annotation(kSuspendingParent).empty()) return asks;
  const TypedObject* ns = scene.job.state.find(kNamespaces, "", meta.ns);
  const auto managed = in_managed_namespace(scene.rules(), meta.ns, ns == nullptr ? nullptr : &meta_of(*ns).labels);
  if (!managed) return fail_with(managed.error());
  if (!*managed) return false;
  const MaybeAncestor ancestor = managed_ancestor(scene.rules(), owners_in(scene.job.state, scene.rules(), meta.ns),
                                                  meta.uid, meta.controller, true);
  if (!ancestor) return fail_with(ancestor.error());
  // The Workload of its owner counts it.
  return asks && !*ancestor;
}

// A namespace or an owner that is not known yet is asked for again.
Step leave_unqueued(const PodScene& scene, Plan& plan) {
  const auto queued = is_queued(scene);
  if (!queued) plan.wake_at(scene.job.now.wall + kUndecidedInterval);
  return queued && *queued ? Step::kContinue : Step::kDone;
}

// --- Without a Workload ---

// What runs was not admitted.
Step stop_unadmitted(const PodScene& scene, const char* message, Plan& plan) {
  return stop_pods(scene, WhichPods::kRunning, "NoMatchingWorkload", message, plan);
}

Step follow_without_workload(const PodScene& scene, Plan& plan) {
  if (end_of(scene.group)) {
    drop_kueue_finalizers(scene.group.pods, plan);
    return Step::kDone;
  }
  if (stop_unadmitted(scene, kMissing, plan) == Step::kDone) return Step::kDone;
  if (!scene.group.active && !scene.is_of_set() && !prebuilt_workload_name_of(scene.rules(), scene.group.meta))
    make_workload(scene, plan);
  return Step::kDone;
}

// --- Which Workload it is ---

// None of these is what the pods ask for.
Step follow_without_match(const PodScene& scene, const std::vector<const Workload*>& others, Plan& plan) {
  const char* why = others.size() == 1 ? kNotMatching : kMissing;
  if (!end_of(scene.group) && stop_unadmitted(scene, why, plan) == Step::kDone) return Step::kDone;
  const Workload* first = others.front();
  if (!scene.is_group() && !first->has_quota_reserved() && !is_over(*first) && suspended(scene.group)) {
    remake_workload(scene, *first, plan);
    return Step::kDone;
  }
  if (scene.group.active) return Step::kDone;
  for (const Workload* other : others) remove_workload(scene.job, *other, plan);
  return Step::kDone;
}

Step follow_single(const PodScene& scene, Plan& plan) {
  const std::vector<const Workload*> owned = scene.job.state.workloads_of_owner(scene.group.meta.uid);
  std::vector<const Workload*> others;
  const Workload* match = nullptr;
  for (const Workload* workload : owned) {
    if (match == nullptr && is_equivalent(scene.job, *workload))
      match = workload;
    else
      others.push_back(workload);
  }
  if (match == nullptr && owned.empty()) return follow_without_workload(scene, plan);
  if (match == nullptr) return follow_without_match(scene, others, plan);
  for (const Workload* other : others) remove_workload(scene.job, *other, plan);
  return others.empty() ? follow_workload(scene, *match, 0, plan) : Step::kDone;
}

// Its pod is going. While the node is in use, so is the quota.
Step leave_with_deleted(const PodScene& scene, Plan& plan) {
  const QueuedPod& pod = *scene.group.pods.front();
  if (!pod.meta.deleting) return Step::kContinue;
  if (scene.group.active) {
    plan.wake_at(end_of_grace(pod));
    return Step::kDone;
  }
  for (const Workload* workload : scene.job.state.workloads_of_owner(pod.meta.uid)) {
    const Condition* evicted = find_condition(workload->status.conditions, kEvictedCondition);
    if (evicted != nullptr && evicted->is_true() && !workload->finished()) {
      if (workload->has_quota_reserved()) release_evicted(scene, *workload, *evicted, plan);
    } else if (!workload->finished()) {
      plan.writes.push_back(
          write_status(*workload, finished_status(*workload, kOwnerNotFoundReason,
                                                  "The workload's owner no longer exists", scene.job.stamp())));
    } else {
      drop_in_use_finalizer(kWorkloads, workload->meta, plan);
    }
  }
  if (plan.writes.empty()) drop_kueue_finalizers(scene.group.pods, plan);
  return Step::kDone;
}

// Every pod of a group owns its Workload, so that garbage collection keeps it until the last one is gone.
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
  write.events = {event_about(kWorkloads, workload.meta, kNormalEvent, "OwnerReferencesAdded",
                              "Added " + std::to_string(added) + " owner reference(s)")};
  plan.writes.push_back(std::move(write));
}

Step follow_group(const PodScene& scene, const Workload* made, Plan& plan) {
  const Workload& workload = *made;
  const bool same_limit = workload.maximum_execution_seconds == scene.job.job.maximum_execution_seconds();
  GroupMatch found = match(scene.group, workload, scene.job.stamp());
  if (!scene.is_of_set() && (!same_limit || !found.suits)) return follow_without_match(scene, {&workload}, plan);
  // Pods that nobody counts: none runs.
  if (found.kept.empty()) {
    return is_over(workload) ? follow_workload(scene, workload, 0, plan) : stop_unadmitted(scene, kNotMatching, plan);
  }
  // A set makes those again that are deleted, so those that are too many wait.
  if (scene.is_of_set()) std::erase_if(found.excess, [](const QueuedPodPtr& pod) { return pod->gated(); });
  if (!is_over(workload)) {
    own(found.kept, workload, plan);
    for (const QueuedPodPtr& pod : found.excess) {
      if (!pod->meta.deleting)
        remove_pod(*pod, event_about(*pod, kNormalEvent, "ExcessPodDeleted", "Excess pod deleted"), plan);
    }
    if (!plan.writes.empty()) return Step::kDone;
  }
  PodGroup kept = scene.group;
  kept.pods = std::move(found.kept);
  const Step step =
      with_scene(std::move(kept), scene.job.state, scene.job.settings, scene.job.now,
                 [&](const PodScene& left) { return follow_workload(left, workload, found.absent, plan); });
  if (plan.writes.empty()) drop_kueue_finalizers(found.replaced, plan);
  return step;
}

// The name of the group is taken by a Workload of something else.
Step tell_conflict(const PodScene& scene, const Workload* workload, Plan& plan) {
  if (workload->of_pod_group()) return Step::kContinue;
  plan.wake_at(scene.job.now.wall + kTakenInterval);
  plan.events.push_back(scene.job.event(kWarningEvent, "WorkloadNameConflict",
                                        "A Workload named \"" + scene.group.group +
                                            "\" already exists but is not a pod group workload; this pod group "
                                            "cannot be admitted"));
  return last(stop_unadmitted(scene, kMissing, plan));
}

constexpr Step (*kStepsOfPod[])(const PodScene&, Plan&) = {leave_with_deleted, leave_unqueued, follow_single};

Plan reconcile_pod(const ObjectKey& key, const ClusterState& state, const QueueSettings& settings, Now now) {
  Plan plan;
  const QueuedPodPtr pod = state.queued_pod(key.ns, key.name);
  // Pods of a set wait until they are told their group.
  if (pod == nullptr || !is_managed(*pod) || !pod->group().empty() || is_of_serving_set(*pod)) return plan;
  with_scene(make_pod_group({pod}, "", settings.rules, now.wall), state, settings, now,
             [&](const PodScene& scene) { run_pass(kStepsOfPod, scene, plan); });
  return plan;
}

Step leave_unqueued_group(const PodScene& scene, const Workload*, Plan& plan) {
  return leave_unqueued(scene, plan);
}

// Grace periods end without an event.
Step wake_after_graces(const PodScene& scene, const Workload*, Plan& plan) {
  for (const QueuedPodPtr& pod : scene.group.pods) {
    if (pod->meta.deleting && uses_node(*pod, scene.rules(), scene.job.now.wall)) plan.wake_at(end_of_grace(*pod));
  }
  return Step::kContinue;
}

// Ends the pass where there is no Workload.
Step make_missing(const PodScene& scene, const Workload* workload, Plan& plan) {
  return workload == nullptr ? follow_without_workload(scene, plan) : Step::kContinue;
}

// Of a group and the Workload of its name, which is null only until make_missing().
constexpr Step (*kStepsOfGroup[])(const PodScene&, const Workload*, Plan&) = {
    leave_unqueued_group, wake_after_graces, make_missing, tell_conflict, follow_group};

// Nobody is left who could own it, or whom it could count.
Plan reconcile_empty_group(const Workload* workload) {
  Plan plan;
  if (workload != nullptr && workload->of_pod_group() && is_over(*workload))
    drop_in_use_finalizer(kWorkloads, workload->meta, plan);
  return plan;
}

Plan reconcile_pods(const ObjectKey& key, const ClusterState& state, const QueueSettings& settings, Now now) {
  const Workload* workload = state.workload(key.ns, key.name);
  std::vector<QueuedPodPtr> pods = state.pods_of_group(key.ns, key.name);
  if (pods.empty()) return reconcile_empty_group(workload);
  Plan plan;
  PodGroup group = make_pod_group(std::move(pods), key.name, settings.rules, now.wall);
  if (workload != nullptr && workload->of_pod_group())
    group.gone =
        gone_pods(group, read_succeeded(workload->meta.annotation(kSucceededPodsAnnotation)), workload->pod_sets);
  with_scene(std::move(group), state, settings, now,
             [&](const PodScene& scene) { run_pass(kStepsOfGroup, scene, workload, plan); });
  return plan;
}

Plan reconcile(const ObjectKey& key, const ClusterState& state, const ReconcilerSettings& settings, Now now) {
  if (!settings.queues.rules.frameworks.contains(kFramework)) return {};
  if (key.type->plural == kQueuedPods.plural) return reconcile_pod(key, state, settings.queues, now);
  if (key.type->plural == kPodGroups.plural) return reconcile_pods(key, state, settings.queues, now);
  return {};
}

void concerns(const ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (const auto* pod = std::get_if<QueuedPodPtr>(&object)) {
    const std::string group((*pod)->group());
    if (group.empty())
      keys.push_back(key_of(object));
    else
      keys.push_back({&kPodGroups, (*pod)->meta.ns, group});
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    const ObjectMeta& meta = (*workload)->meta;
    if (!meta.controller)
      keys.push_back({&kPodGroups, meta.ns, meta.name});
    else if (meta.controller->kind == kQueuedPods.kind && meta.controller->api_version == kQueuedPods.api_version)
      keys.push_back({&kQueuedPods, meta.ns, meta.controller->name});
  }
}

}  // namespace

const Reconciler pod_workload_reconciler = {.name = "pod_workload", .concerns = concerns, .reconcile = reconcile};

}  // namespace muster
