#include "reconcilers/workload/pods_left.h"

#include <algorithm>

#include "api/job.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/workload.h"
#include "base/ascii.h"
#include "jobs/batch_job/batch_job.h"
#include "jobs/pod_selector.h"
#include "jobs/size_limit.h"
#include "reconcilers/pod_search.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

constexpr size_t kHashLength = 6;  // "-1a2b3"

// A JobSet can ask for more Jobs than any cluster has.
constexpr int32_t kMostOrphans = static_cast<int32_t>(jobs::kMostJobsOfAJobSet);

bool belongs_to(const Job& child, const DeletedJob& job) {
  const auto& controller = child.meta.controller;
  return controller ? controller->uid == job.uid : child.meta.label(kJobSetUidLabel) == job.uid;
}

bool has_all_jobs(const DeletedJob& job, size_t jobs, const state::ClusterState& state) {
  const JobSet* jobset = state.find<JobSet>(job.ns, job.name);
  if (jobset == nullptr || jobset->meta.uid != job.uid) return false;
  int64_t wanted = 0;
  for (const ReplicatedJob& replicated : jobset->replicated_jobs) wanted += replicated.replicas;
  return static_cast<int64_t>(jobs) >= wanted;
}

bool may_run_pods(const Job& job) {
  const bool starts_more = !job.suspended && !jobs::end_of(job) && !job.meta.deleting;
  return starts_more || job.status.active > 0;
}

// What ends is found by the API server's list, with the bound for graces.
bool has_pods_of(const jobs::JobKind& kind, const DeletedJob& job, const ReconcileContext& context, Plan& plan) {
  PodSelection selection{.asker = job.asker,
                         .labels = job.selector.empty() ? kind.pod_selector(job.name, job.uid) : job.selector};
  if (selection.labels.empty()) return false;
  const TypedObject* other = context.state.find(kind.type, job.ns, job.name);
  const bool by_uid = selection.labels.find(job.uid) != std::string::npos;
  if (other != nullptr && meta_of(*other).uid != job.uid && !by_uid) selection.created_before = meta_of(*other).created;
  return pods_are_left(job.ns, selection, context, plan);
}

}  // namespace

// Those that were orphaned have no controller any more, and are found by their names: there are no more of a replicated
// job than it has pods.
std::vector<const Job*> jobs_of(const DeletedJob& job, const state::ClusterState& state) {
  std::vector<const Job*> jobs = state.by(state::kJobsByJobSet, {job.ns, job.name});
  std::erase_if(jobs, [&](const Job* child) { return !belongs_to(*child, job); });
  if (job.workload == nullptr || has_all_jobs(job, jobs.size(), state)) return jobs;
  for (const PodSet& pod_set : job.workload->pod_sets) {
    const std::string prefix = job.name + "-" + pod_set.name + "-";
    for (int32_t index = 0; index < std::min(pod_set.count, kMostOrphans); ++index) {
      const Job* child = state.find<Job>(job.ns, prefix + std::to_string(index));
      if (child != nullptr && !child->meta.controller && belongs_to(*child, job)) jobs.push_back(child);
    }
  }
  return jobs;
}

DeletedJob gone_job_of(const Workload& workload) {
  DeletedJob job{.asker = key_of(kWorkloads, workload.meta),
                 .workload = &workload,
                 .ns = workload.meta.ns,
                 .uid = std::string(workload.meta.label(kJobUidLabel)),
                 .selector = std::string(workload.meta.annotation(jobs::kPodSelectorAnnotation))};
  if (const auto& owner = workload.meta.controller) {
    job.kind = jobs::find_job_kind(*owner);
    job.name = owner->name;
    job.uid = owner->uid;
    return job;
  }
  const std::string_view name = workload.meta.name;
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    const std::string prefix = in_small_letters(kind->type.kind) + "-";
    if (kind->has_own_reconciler() || !name.starts_with(prefix) || name.size() <= prefix.size() + kHashLength) continue;
    job.kind = kind;
    job.name = name.substr(prefix.size(), name.size() - prefix.size() - kHashLength);
  }
  return job;
}

DeletedJob present_job_of(const jobs::QueuedJob& job, const ObjectKey& asker, const state::ClusterState& state) {
  const ObjectMeta& meta = job.meta();
  DeletedJob found{.asker = asker,
                   .kind = &job.kind(),
                   .ns = meta.ns,
                   .name = meta.name,
                   .uid = meta.uid,
                   .selector = job.pod_selector()};
  for (const Workload* workload : state.by(state::kWorkloadsByOwner, {"", meta.uid})) {
    if (found.workload == nullptr) found.workload = workload;
    if (found.selector.empty()) found.selector = workload->meta.annotation(jobs::kPodSelectorAnnotation);
  }
  return found;
}

bool finds_pods(const DeletedJob& job, const ReconcileContext& context, Plan& plan) {
  return has_pods_of(*job.kind, job, context, plan);
}

bool has_pods_left(const DeletedJob& job, const ReconcileContext& context, Plan& plan) {
  if (job.kind == nullptr) {
    return has_pods_of(jobs::batch_job, job, context, plan) || has_pods_of(jobs::jobset, job, context, plan);
  }
  if (job.kind == &jobs::jobset) {
    const std::vector<const Job*> children = jobs_of(job, context.state);
    if (std::any_of(children.begin(), children.end(), [](const Job* child) { return may_run_pods(*child); })) {
      plan.wake_at(context.now.wall + kJobsInterval);
      return true;
    }
  }
  return has_pods_of(*job.kind, job, context, plan);
}

void suspend_orphans(const DeletedJob& job, const ReconcileContext& context, Plan& plan) {
  if (job.kind != &jobs::jobset) return;
  for (const Job* child : jobs_of(job, context.state)) {
    if (child->suspended || jobs::end_of(*child) || child->meta.controller) continue;
    plan.writes.push_back({.verb = Verb::kPatch,
                           .target = key_of(kJobs, child->meta),
                           .body = with_version(child->meta, {{"spec", {{"suspend", true}}}})});
  }
}

}  // namespace muster::reconcilers
