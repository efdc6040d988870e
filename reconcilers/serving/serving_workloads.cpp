// The Workloads of a StatefulSet or LeaderWorkerSet.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "api/pods/pod_requests.h"
#include "api/texts/workload_texts.h"
#include "base/whole_number.h"
#include "jobs/pod/pod_group.h"
#include "kinds/on_hold.h"
#include "kinds/serving_types.h"
#include "reconcilers/job/job_workload_make.h"
#include "reconcilers/job/job_workload_parts.h"
#include "reconcilers/serving/serving_workload_make.h"
#include "reconcilers/workload/workload_editor.h"
#include "state/index/indexes.h"
#include "state/scheduler_driver.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// A set can specify a million groups, and one write of a user must not create a million Workloads. The next
// plan creates the next Workloads. Workloads beyond the limit of pending ones are created when some of these
// have quota.
constexpr size_t kMostAtOnce = 32;
constexpr size_t kMostPending = 128;
// The same number as muster's limit for the Jobs of one JobSet.
constexpr int32_t kMostGroups = 10'000;
// A missing priority class can be created later; the Workload of another owner can be deleted later.
constexpr Duration kPriorityInterval = std::chrono::seconds(5);

// --- An existing Workload ---

bool counts_the_same(const ServingContext& context, const Workload& workload) {
  const auto& wanted = context.set.pod_sets;
  return std::equal(wanted.begin(), wanted.end(), workload.pod_sets.begin(), workload.pod_sets.end(),
                    [](const DescribedPodSet& a, const PodSet& b) { return a.name == b.name && a.count == b.count; });
}

bool asks_the_same(const ServingContext& context, const Workload& workload) {
  if (!counts_the_same(context, workload)) return false;
  const auto& wanted = context.set.pod_sets;
  return std::equal(wanted.begin(), wanted.end(), workload.pod_sets.begin(),
                    [](const DescribedPodSet& a, const PodSet& b) {
                      const PodSpecPtr &one = a.pod_template.spec, &other = b.pod_template.spec;
                      if (one == nullptr || other == nullptr || one == other) return one == other;
                      if (one->text == other->text) return true;
                      // The hash has requests, and in a template a limit can stand for one.
                      return shape_hash(json::parse(one->text)) == shape_hash(json::parse(other->text)) &&
                             pod_requests(adjusted_resources(*one, {})) == pod_requests(adjusted_resources(*other, {}));
                    });
}

class Alignment {
 public:
  Alignment(const ServingContext& context, const Workload& workload) : context_(context), workload_(workload) {}

  // No write if the Workload is already correct.
  Step write_into(Plan& plan) {
    align_owner();
    align_gates();
    align_priority(plan);
    if (!workload_.has_quota_reserved()) align_request(plan);
    if (patch_.is_null()) return Step::kContinue;
    Write write = patch_workload(workload_, Verb::kPatch, std::move(patch_));
    write.events = std::move(events_);
    plan.writes.push_back(std::move(write));
    return Step::kDone;
  }

 private:
  void record_update(std::string note) {
    events_.push_back(context_.job.event(EventReason::kUpdatedWorkload, std::move(note)));
  }

  // Its pods own it too.
  void align_owner() {
    json owners = json::parse(workload_.group_owners_text);
    if (has_owner(owners, context_.set.meta.uid)) return;
    owners.push_back(owner_of(context_));
    patch_["metadata"]["ownerReferences"] = std::move(owners);
  }

  void align_gates() {
    const std::string gates = gates_of(context_);
    if (workload_.has_quota_reserved() || workload_.meta.annotation(kAdmissionGatedByAnnotation) == gates) return;
    patch_["metadata"]["annotations"] = annotations_with(gates);
    record_update(note_of(gates));
  }

  void align_priority(Plan& plan) {
    if (!names_other_class(context_.job, workload_)) return;
    const auto priority = priority_or_event(context_.job, plan);
    if (!priority) return plan.wake_at(context_.job.now.wall + kPriorityInterval);
    patch_["spec"] = to_json(*priority);
    record_update("Updated workload priority class: " + path_of(workload_.meta));
  }

  // Its queue and its pod sets, as long as no quota depends on them.
  void align_request(Plan& plan) {
    const std::string queue(context_.job.job.queue_name());
    if (workload_.queue_name != queue) patch_["spec"]["queueName"] = queue.empty() ? json() : json(queue);
    if (context_.wanted.groups == 0 || asks_the_same(context_, workload_)) return;
    const auto priority = priority_or_event(context_.job, plan);
    if (!priority) return plan.wake_at(context_.job.now.wall + kPriorityInterval);
    patch_["spec"]["podSets"] = spec_of(context_, *priority)["podSets"];
    record_update("Updated not matching Workload for suspended job: " + path_of(workload_.meta));
  }

  const ServingContext& context_;
  const Workload& workload_;
  json patch_;
  std::vector<ObjectEvent> events_;
};

// Pods that use quota, or can at any moment: a pod of an admitted Workload can be losing its gate just now.
std::vector<QueuedPodPtr> using_quota(const ServingContext& context, const Workload& workload,
                                      std::vector<QueuedPodPtr> pods) {
  // Of a set that is scaled to zero the gated pods are deleted soon. With other numbers of replicas they wait for
  // quota.
  const bool gates_open = workload.admitted() && context.wanted.groups == 0;
  std::erase_if(pods, [&](const QueuedPodPtr& pod) {
    return !jobs::uses_node(*pod, context.rules(), context.job.now.wall) &&
           ((pod->gated() && !gates_open) || pod->terminated() || pod->meta.deleting);
  });
  return pods;
}

void release(const ServingContext& context, const Workload& workload, std::string_view reason,
             const std::string& message, Plan& plan) {
  WorkloadEditor editor(workload, context.job);
  editor.release(reason, message);
  editor.write_into(plan);
}

void resume(const ServingContext& context, const Workload& workload, Plan& plan) {
  WorkloadEditor editor(workload, context.job);
  editor.set(kQuotaReservedCondition, false, kPendingEvaluationReason,
             "Workload no longer on hold; waiting for quota reservation");
  editor.sync_admitted();
  editor.write_into(plan);
}

// Quota that no pod uses and that does not match the set is released.
void keep_reservation(const ServingContext& context, const Workload& workload, Plan& plan) {
  const Condition* evicted = find_condition(workload.status.conditions, kEvictedCondition);
  const bool leaves = evicted != nullptr && evicted->is_true();
  const bool fits = counts_the_same(context, workload);
  if (context.wanted.groups > 0 && fits && !leaves) return;
  const auto pods = context.job.state.share_by(state::kPodsByGroup, {workload.meta.ns, workload.meta.name});
  const std::vector<QueuedPodPtr> in_use = using_quota(context, workload, pods);
  // Grace periods end without an event.
  for (const QueuedPodPtr& pod : in_use) {
    if (pod->meta.deleting) plan.wake_at(jobs::end_of_grace(*pod));
  }
  if (!in_use.empty()) {
    if (fits || leaves || context.wanted.groups == 0) return;
    plan.events.push_back(context.job.event(EventReason::kReplicasChanged,
                                            "Workload " + path_of(workload.meta) +
                                                " has quota for other pods than there are replicas now; scale to zero, "
                                                "wait until its pods are deleted, and scale up again"));
    return;
  }
  if (leaves) {
    // If pods exist, the reconciler of their group does this.
    if (!pods.empty()) return;
    WorkloadEditor editor = edit_workload(context.job, workload);
    editor.release_evicted(*evicted);
    editor.write_into(plan);
  } else if (context.wanted.groups == 0) {
    release(context, workload, kOnHoldReason,
            context.set.meta.deleting ? "The set is being deleted; workload on hold"
                                      : "StatefulSet scaled to zero; workload on hold",
            plan);
  } else {
    release(context, workload, kPendingEvaluationReason, "The set has another number of pods now", plan);
  }
}

// The queue of a set can change while none of its pods serves. The queue of a Workload that holds quota cannot: its
// pods wait again, in the other queue.
Step leave_old_queue(const ServingContext& context, const Workload& workload, Plan& plan) {
  const std::string queue(context.job.job.queue_name());
  if (!workload.admitted() || workload.evicted() || queue.empty() || workload.queue_name == queue)
    return Step::kContinue;
  const auto pods = context.job.state.share_by(state::kPodsByGroup, {workload.meta.ns, workload.meta.name});
  if (std::any_of(pods.begin(), pods.end(), [](const QueuedPodPtr& pod) { return pod->ready; })) {
    plan.events.push_back(context.job.event(
        EventReason::kQueueChanged, "Workload " + path_of(workload.meta) + " keeps its quota of queue " +
                                        workload.queue_name +
                                        ", because a pod is ready; scale to zero to move it to queue " + queue));
    return Step::kContinue;
  }
  WorkloadEditor editor(workload, context.job);
  editor.evict(kQueueChangedReason, "", "The queue changed from " + workload.queue_name + " to " + queue);
  editor.write_into(plan);
  return Step::kDone;
}

void keep(const ServingContext& context, const Workload& workload, Plan& plan) {
  if (workload.finished() || workload.meta.deleting) return;
  if (leave_old_queue(context, workload, plan) == Step::kDone) return;
  if (Alignment(context, workload).write_into(plan) == Step::kDone) return;
  const size_t writes = plan.writes.size();
  if (workload.has_quota_reserved() && !workload.admitted() && !workload.evicted())
    wait_for_admission(context.job, workload, plan);
  if (plan.writes.size() > writes) return;
  if (workload.has_quota_reserved()) return keep_reservation(context, workload, plan);
  if (is_on_hold(workload) && context.wanted.groups > 0) resume(context, workload, plan);
}

void tell_too_many(const ServingContext& context, Plan& plan) {
  plan.events.push_back(context.job.event(
      EventReason::kTooManyGroups, "It has " + std::to_string(context.wanted.groups) + " groups, and the first " +
                                       std::to_string(kMostGroups) +
                                       " are queued; the pods of the others wait. Make several sets"));
}

void tell_taken(const ServingContext& context, const std::string& name, Plan& plan) {
  plan.wake_at(context.job.now.wall + kNameConflictInterval);
  plan.events.push_back(context.job.event(
      EventReason::kWorkloadNameConflict,
      "Workload " + path_of(context.set.meta.ns, name) + " exists and does not belong to this set; delete it"));
}

}  // namespace

void drop_surplus_workloads(const ServingContext& context, Plan& plan) {
  if (jobs::is_stateful_set(context.set)) return;
  const ObjectMeta& meta = context.set.meta;
  for (const Workload* workload : context.job.state.by(state::kWorkloadsByServingSet, {meta.ns, meta.uid})) {
    const auto index = whole_number<int32_t>(workload->meta.annotation(jobs::kComponentIndex));
    if (!index || *index < context.wanted.groups || workload->meta.deleting) continue;
    // A Workload that only claims to belong to the set is not changed.
    if (workload->meta.name != context.workload_name(*index)) continue;
    plan.writes.push_back({.verb = Verb::kDelete,
                           .target = key_of(kWorkloads, workload->meta),
                           .body = with_version(workload->meta, {}),
                           .uid = workload->meta.uid});
  }
}

void release_unused(const ServingContext& context, Plan& plan) {
  const ObjectMeta& meta = context.set.meta;
  for (const Workload* workload : context.job.state.by(state::kWorkloadsByServingSet, {meta.ns, meta.uid})) {
    const bool holds = workload->has_quota_reserved() && !workload->finished() && !workload->meta.deleting;
    if (holds && is_ours(context, *workload)) keep_reservation(context, *workload, plan);
  }
}

void keep_workloads(const ServingContext& context, Plan& plan) {
  const ObjectMeta& meta = context.set.meta;
  const TypedObject* ns = context.job.state.find(kNamespaces, "", meta.ns);
  const bool takes_more = context.wanted.groups > 0 && (ns == nullptr || !meta_of(*ns).deleting);
  // Each existing Workload is checked, also after a gap in the numbers.
  size_t unseen = context.job.state.by(state::kWorkloadsByServingSet, {meta.ns, meta.uid}).size();
  size_t made = 0, pending = 0;
  if (context.wanted.groups > kMostGroups) tell_too_many(context, plan);
  // A StatefulSet of zero replicas keeps the Workload that it has.
  const int32_t groups = jobs::is_stateful_set(context.set) ? 1 : std::min(context.wanted.groups, kMostGroups);
  std::optional<WorkloadPriority> priority;
  for (int32_t group = 0; group < groups; ++group) {
    const bool makes_more = takes_more && made < kMostAtOnce && pending < kMostPending;
    if (unseen == 0 && !makes_more && group > 0) break;
    std::string name = context.workload_name(group);
    if (const Workload* workload = context.job.state.find<Workload>(meta.ns, name)) {
      if (!is_ours(context, *workload)) {
        if (is_unmarked(context, *workload))
          adopt(context, group, *workload, plan);
        else
          tell_taken(context, name, plan);
        continue;
      }
      unseen -= std::min<size_t>(unseen, 1);
      pending += !workload->has_quota_reserved() && !workload->finished();
      keep(context, *workload, plan);
      continue;
    }
    if (!makes_more) continue;
    if (!priority) priority = priority_or_event(context.job, plan);
    if (!priority) {
      plan.wake_at(context.job.now.wall + kPriorityInterval);
      break;
    }
    make_workload(context, group, std::move(name), *priority, plan);
    ++made;
    ++pending;
  }
}

}  // namespace muster::reconcilers
