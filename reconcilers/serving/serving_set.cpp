#include "reconcilers/serving/serving_set.h"

#include "api/meta/constants.h"
#include "jobs/management.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"
#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/serving/serving_context.h"

namespace muster::reconcilers {
namespace {

constexpr Duration kUndecidedInterval = std::chrono::seconds(5);

// Whether the queues have to do with it at all.
Result<bool, jobs::Undecided> is_queued(const ServingContext& context) {
  const ObjectMeta& meta = context.set.meta;
  const ResourceType& type = context.job.job.type();
  const jobs::MaybeAncestor ancestor = ancestor_of(context.job, type, meta);
  if (!ancestor) return fail_with(ancestor.error());
  // The Workload of its owner counts the pods.
  if (*ancestor || jobs::has_other_parent(context.set)) return false;
  if (!context.job.job.queue_name().empty()) return true;
  if (!context.rules().manage_jobs_without_queue_name) return false;
  const TypedObject* ns = context.job.state.find(kNamespaces, "", meta.ns);
  return jobs::in_managed_namespace(context.rules(), meta.ns, ns == nullptr ? nullptr : &meta_of(*ns).labels);
}

// The pass runs again when an unknown namespace or owner becomes known.
Step leave_unqueued(const ServingContext& context, Plan& plan) {
  if (!context.job.job.readable()) return Step::kDone;
  const auto queued = is_queued(context);
  if (!queued) {
    tell_of_owners(context.job, queued.error(), plan);
    plan.wake_at(context.job.now.wall + kUndecidedInterval);
  }
  return queued && *queued ? Step::kContinue : Step::kDone;
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const jobs::JobKind* kind = jobs::find_job_kind(*key.type);
  if (kind != &jobs::stateful_set && kind != &jobs::leader_worker_set) return plan;
  if (!kind->is_enabled(context.queues().rules)) return plan;
  const TypedObject* object = context.state.find(kind->type, key.ns, key.name);
  if (object == nullptr) return plan;
  const DescribedJob& set = *std::get<DescribedJobPtr>(*object);
  jobs::ServingSet wanted = jobs::serving_set_of(set);
  if (set.meta.deleting) wanted.groups = 0;
  const jobs::QueuedJob job(*kind, *object);
  const JobContext job_context{context, job};
  const ServingContext serving{set, wanted, job_context};
  // The deletion of the set also deletes its pods and its Workloads; waiting pods do not start. A finalizer of another
  // owner can hold the set, and then quota that no pod uses is given back.
  if (set.meta.deleting) {
    release_unused(serving, plan);
    return plan;
  }
  drop_surplus_workloads(serving, plan);
  if (leave_unqueued(serving, plan) == Step::kDone) return plan;
  keep_workloads(serving, plan);
  keep_pods(serving, plan);
  return plan;
}

// The owner that a Workload names in annotations, for it is no controller.
void enqueue_for_workload(const Workload& workload, std::vector<ObjectKey>& keys) {
  if (!workload.of_pod_group()) return;
  const std::string_view gvk = workload.meta.annotation(jobs::kJobOwnerGvk);
  const std::string name(workload.meta.annotation(jobs::kJobOwnerName));
  if (name.empty()) return;
  for (const ResourceType* type : {&kStatefulSets, &kLeaderWorkerSets}) {
    if (gvk == jobs::gvk_of(*type)) keys.push_back({type, workload.meta.ns, name});
  }
}

void requests_for(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (const auto* set = std::get_if<DescribedJobPtr>(&object)) {
    const jobs::JobKind* kind = jobs::find_job_kind((*set)->kind->type());
    if (kind == &jobs::stateful_set || kind == &jobs::leader_worker_set)
      keys.push_back({&kind->type, (*set)->meta.ns, (*set)->meta.name});
  } else if (const auto* pod = std::get_if<QueuedPodPtr>(&object)) {
    const ObjectMeta& meta = (*pod)->meta;
    const std::string_view parent = meta.annotation(kSuspendingParent);
    if (parent == kStatefulSetFramework && meta.controller && meta.controller->kind == kStatefulSets.kind)
      keys.push_back({&kStatefulSets, meta.ns, meta.controller->name});
    if (parent == kLeaderWorkerSetFramework && !meta.label(kLeaderWorkerSetName).empty())
      keys.push_back({&kLeaderWorkerSets, meta.ns, std::string(meta.label(kLeaderWorkerSetName))});
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    enqueue_for_workload(**workload, keys);
  }
}

}  // namespace

const Reconciler serving_set_reconciler = {.name = "serving_set", .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
