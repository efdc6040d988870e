#include "reconcilers/job/job_workload_concerned.h"

#include <algorithm>
#include <utility>

#include "api/cluster_queue.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "jobs/queued_job.h"
#include "kinds/kind_description.h"
#include "reconcilers/job/job_indexes.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

// Visits every job: only for events that are rare.
template <class Visit>
void for_each_job(const state::ClusterState& state, Visit visit) {
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (kind->has_own_reconciler()) continue;
    state.for_each_of(kind->type, [&](const TypedObject& object) { visit(jobs::QueuedJob(*kind, object)); });
  }
}

void add_key(const jobs::QueuedJob& job, std::vector<ObjectKey>& keys) {
  keys.push_back(key_of(job.type(), job.meta()));
}

// A job can name a Workload without a controller.
void enqueue_jobs_that_name(const state::ClusterState& state, const ObjectMeta& workload,
                            std::vector<ObjectKey>& keys) {
  for (const TypedObject* job : state.by(kJobsByPrebuiltWorkload, {workload.ns, workload.name})) {
    if (!jobs::find_job_kind(type_of(*job))->has_own_reconciler()) keys.push_back(key_of(*job));
  }
}

void enqueue_for_workload(const state::ClusterState& state, const ObjectMeta& workload, std::vector<ObjectKey>& keys) {
  if (!workload.controller) return enqueue_jobs_that_name(state, workload, keys);
  const OwnerReference& owner = *workload.controller;
  const jobs::JobKind* kind = jobs::find_job_kind(owner);
  if (kind != nullptr && !kind->has_own_reconciler()) keys.push_back({&kind->type, workload.ns, owner.name});
}

// From now on, PodsReady of Workloads with quota is written, or is no longer written.
void enqueue_for_fallback(const state::ClusterState& state, const ClusterQueue& queue, std::vector<ObjectKey>& keys) {
  const ClusterQueue* present = state.find<ClusterQueue>(queue.meta.name);
  if (present == nullptr || present->fallback.has_value() == queue.fallback.has_value()) return;
  for (const Workload* workload : state.by(state::kWorkloadsByClusterQueue, {"", queue.meta.name}))
    enqueue_for_workload(state, workload->meta, keys);
}

// Jobs whose pods depend on this object.
void enqueue_consulting_jobs(const state::ClusterState& state, const ObjectMeta& consulted, const ResourceType& type,
                             std::vector<ObjectKey>& keys) {
  for (const KindDescriptionPtr& kind : described_kinds()) {
    const bool asks = std::any_of(kind->consulted.begin(), kind->consulted.end(),
                                  [&](const ConsultedKind& each) { return each.type() == type; });
    if (!asks) continue;
    if (!consulted.ns.empty()) {
      for (const TypedObject* job : state.by(kDescribedJobsByKind, {consulted.ns, kind->type().plural})) {
        if (type_of(*job) == kind->type()) keys.push_back(key_of(*job));
      }
      continue;
    }
    state.for_each_of(kind->type(), [&](const TypedObject& object) { keys.push_back(key_of(object)); });
  }
}

bool uses(const jobs::QueuedJob& job, const PriorityClass& priority_class) {
  if (!priority_class.for_pods) return job.priority_class() == priority_class.meta.name;
  if (!job.readable() || !job.priority_class().empty()) return false;
  const std::vector<PodSet> pod_sets = job.pod_set_shapes({});
  return std::any_of(pod_sets.begin(), pod_sets.end(), [&](const PodSet& pod_set) {
    return pod_set.pod_template.spec->priority_class == priority_class.meta.name;
  });
}

// Jobs that can wait for a class to exist.
void enqueue_for_priority_class(const state::ClusterState& state, const PriorityClass& priority_class,
                                std::vector<ObjectKey>& keys) {
  for_each_job(state, [&](const jobs::QueuedJob& job) {
    if (uses(job, priority_class)) add_key(job, keys);
  });
}

// Without their controller, its parts are queued by themselves or hold no quota.
void enqueue_parts_of_deleted(const state::ClusterState& state, const TypedObject& object,
                              std::vector<ObjectKey>& keys) {
  const ObjectMeta& meta = meta_of(object);
  if (state.find(type_of(object), meta.ns, meta.name) != nullptr) return;
  for (const TypedObject* part : state.by(kPartsByDescribedJob, {meta.ns, meta.uid})) keys.push_back(key_of(*part));
  if (!std::holds_alternative<JobSetPtr>(object)) return;
  for (const Job* job : state.by(state::kJobsByJobSet, {meta.ns, meta.name})) keys.push_back(key_of(kJobs, job->meta));
}

}  // namespace

void jobs_concerned_by(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (const jobs::JobKind* kind = jobs::find_job_kind(type_of(object));
      kind != nullptr && !kind->has_own_reconciler()) {
    keys.push_back(key_of(object));
    enqueue_parts_of_deleted(state, object, keys);
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    enqueue_for_workload(state, (*workload)->meta, keys);
  } else if (const auto* queue = std::get_if<ClusterQueuePtr>(&object)) {
    enqueue_for_fallback(state, **queue, keys);
  } else if (const auto* priority_class = std::get_if<PriorityClassPtr>(&object)) {
    enqueue_for_priority_class(state, **priority_class, keys);
  } else if (const auto* plain = std::get_if<PlainObjectPtr>(&object)) {
    if ((*plain)->type->kind != kNamespaces.kind) enqueue_consulting_jobs(state, (*plain)->meta, *(*plain)->type, keys);
  }
}

}  // namespace muster::reconcilers
