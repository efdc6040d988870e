#include "reconcilers/job/job_workload_standing.h"

#include <algorithm>
#include <tuple>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "jobs/prebuilt_workload.h"
#include "kinds/kind_description.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_indexes.h"
#include "reconcilers/job/job_workload_infos.h"
#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/job/jobset_part.h"
#include "reconcilers/job/prebuilt_difference.h"
#include "state/index/indexes.h"
#include "state/pod_requests.h"

namespace muster::reconcilers {
namespace {

// Devices are claimed by name, so no amount shows them.
bool claim_devices(const std::vector<PodSet>& pod_sets) {
  return std::any_of(pod_sets.begin(), pod_sets.end(),
                     [](const PodSet& pod_set) { return pod_set.pod_template.spec->resource_claims; });
}

// What all pods request, and how many pods there are: of the pod sets with these names, or of all.
Requests requests_of(const JobContext& context, const std::vector<PodSet>& pod_sets,
                     const std::vector<std::string>& names = {}) {
  Requests sum;
  for (const PodSet& pod_set : pod_sets) {
    if (!names.empty() && std::find(names.begin(), names.end(), pod_set.name) == names.end()) continue;
    Requests of_pod =
        to_requests(state::pod_requests_in(*pod_set.pod_template.spec, context.job.meta().ns, context.state));
    of_pod["pods"] = 1;
    muster::add(sum, multiply(of_pod, pod_set.count));
  }
  return sum;
}

// More objects of one controller are not compared: the others are held.
constexpr size_t kMostSiblings = 100;

bool is_running(const Workload& workload) {
  return workload.admitted() && !workload.finished();
}

// Those of its controller that use the same part of the quota, that it got before this one and that have not ended.
std::vector<jobs::QueuedJob> older_siblings(const JobContext& context, const ObjectMeta& last,
                                            const jobs::JobKind& parent, const OwnedKind* owned) {
  std::vector<jobs::QueuedJob> older;
  for (const TypedObject* object : context.state.by(kPartsByDescribedJob, {last.ns, last.controller->uid})) {
    const ObjectMeta& meta = meta_of(*object);
    if (std::tie(last.created, last.name) <= std::tie(meta.created, meta.name)) continue;
    const ResourceType& type = type_of(*object);
    if (parent.find_owned(type.group, type.kind) != owned) continue;
    const auto sibling = find_job(key_of(*object), context.state);
    if (sibling && sibling->readable() && !sibling->end()) older.push_back(*sibling);
    if (older.size() > kMostSiblings) break;
  }
  return older;
}

// Whether the quota of the parent, whose pod sets these are, has room for the child beside what its controller got
// before it.
bool has_room(const JobContext& context, const jobs::QueuedJob& child, const jobs::JobKind& parent,
              const std::vector<PodSet>& pod_sets) {
  const OwnedKind* owned = parent.find_owned(child.type().group, child.type().kind);
  if (owned == nullptr || !child.readable()) return false;
  const std::vector<jobs::QueuedJob> older = older_siblings(context, child.meta(), parent, owned);
  if (older.size() > kMostSiblings) return false;
  const std::vector<PodSet> wanted = child.pod_set_shapes(context.queues().rules);
  if (claim_devices(wanted) && !claim_devices(pod_sets)) return false;
  Requests sum = requests_of(context, wanted);
  for (const jobs::QueuedJob& sibling : older)
    muster::add(sum, requests_of(context, sibling.pod_set_shapes(context.queues().rules)));
  return state::is_within(sum, multiply(requests_of(context, pod_sets, owned->pod_sets), owned->times));
}

bool is_part_of_jobset(const JobContext& context, const jobs::QueuedJob& child, std::string_view jobset_name,
                       const std::vector<PodSet>& pod_sets) {
  const JobSet* jobset = context.state.find<JobSet>(child.meta().ns, jobset_name);
  const Job* job = child.type() == kJobs ? context.state.find<Job>(child.meta().ns, child.meta().name) : nullptr;
  return jobset != nullptr && job != nullptr && is_within_jobset(context.state, *job, *jobset, pod_sets);
}

// The controllers of all kinds make objects below their jobs (the JobSet controller, the trainer, KubeRay, the MPI
// operator), and so can each user who can create such objects: what runs is as much as the Workload of the whole has,
// and as much as each object between them says. The Jobs of a JobSet are known by their names.
bool fits_below(const JobContext& context, const jobs::QueuedJob& child, const jobs::ManagedAncestor& top,
                const Workload& workload) {
  const OwnerReference& controller = *child.meta().controller;
  const jobs::JobKind* kind = jobs::find_owner_kind(controller, context.queues().rules);
  const bool is_top = controller.uid == top.uid;
  const auto parent =
      kind == nullptr ? std::nullopt : find_job({&kind->type, child.meta().ns, controller.name}, context.state);
  if (!parent || !(is_top || parent->readable())) return false;
  const auto shapes = is_top ? std::vector<PodSet>() : parent->pod_set_shapes(context.queues().rules);
  const std::vector<PodSet>& pod_sets = is_top ? workload.pod_sets : shapes;
  const bool fits = kind == &jobs::jobset ? is_part_of_jobset(context, child, controller.name, pod_sets)
                                          : has_room(context, child, *kind, pod_sets);
  if (!fits) return false;
  return is_top || (parent->meta().controller && fits_below(context, *parent, top, workload));
}

bool is_covered(const JobContext& context, const jobs::ManagedAncestor& ancestor) {
  const std::vector<const Workload*> workloads = context.state.by(state::kWorkloadsByOwner, {"", ancestor.uid});
  return std::any_of(workloads.begin(), workloads.end(), [&](const Workload* workload) {
    return is_running(*workload) && (ancestor.external || fits_below(context, context.job, ancestor, *workload));
  });
}

bool runs_with_quota(const JobContext& context) {
  const std::vector<const Workload*> workloads =
      context.state.by(state::kWorkloadsByOwner, {"", context.job.meta().uid});
  return std::any_of(workloads.begin(), workloads.end(), [](const Workload* workload) {
    return workload->admitted() && !workload->finished() && !workload->evicted() && !workload->meta.deleting;
  });
}

void remove(const JobContext& context, const Workload& workload, Plan& plan) {
  delete_in_use(kWorkloads, workload.meta, plan,
                {context.event(EventReason::kDeletedWorkload,
                               "Deleted Workload of a job that is in no queue any more: " + path_of(workload.meta))});
}

}  // namespace

jobs::MaybeAncestor ancestor_of(const JobContext& context) {
  return ancestor_of(context, context.job.type(), context.job.meta());
}

std::string excess_below(const JobContext& context, const jobs::ManagedAncestor& whole) {
  const std::vector<const Workload*> workloads = context.state.by(state::kWorkloadsByOwner, {"", whole.uid});
  if (std::none_of(workloads.begin(), workloads.end(), [](const Workload* each) { return is_running(*each); }))
    return "";
  if (is_covered(context, whole)) return "";
  const std::string self = "this " + std::string(context.job.type().kind);
  if (jobs::job_type_of(*context.job.meta().controller) == &kJobSets)
    return self + " is not one that the JobSet asks for, or its pods request more than the quota of " + text_of(whole);
  return self + ", with the older ones of its controller, requests more than the quota of " + text_of(whole);
}

Result<Standing, jobs::Undecided> standing_of(const JobContext& context) {
  const RuleSettings& rules = context.queues().rules;
  const ObjectMeta& meta = context.job.meta();
  const TypedObject* ns = context.state.find(kNamespaces, "", meta.ns);
  const auto managed = jobs::in_managed_namespace(rules, meta.ns, ns == nullptr ? nullptr : &meta_of(*ns).labels);
  if (!managed) return fail_with(managed.error());
  if (!*managed) return Standing::kOutside;
  const jobs::MaybeAncestor ancestor = ancestor_of(context);
  if (!ancestor && ancestor.error().absent_owner) return fail_with(ancestor.error());
  if (!ancestor) return Standing::kHeld;
  if (*ancestor) return is_covered(context, **ancestor) ? Standing::kCovered : Standing::kHeld;
  if (context.job.queue_name().empty() && !rules.manage_jobs_without_queue_name) return Standing::kFree;
  if (context.job.readable()) return Standing::kQueued;
  // Its requests are already counted.
  const bool awaits = !context.job.awaited().empty() && runs_with_quota(context);
  return awaits ? Standing::kOutside : Standing::kHeld;
}

bool lets_run(const JobContext& context, const Workload& workload) {
  if (!is_running(workload) || workload.evicted() || workload.meta.deleting) return false;
  return is_equivalent(context, workload) ||
         (jobs::prebuilt_workload_name_of(context.queues().rules, context.job.meta()) &&
          is_equivalent(context, with_container_defaults(workload)));
}

void hold(const JobContext& context, Plan& plan) {
  if (context.job.end()) return;
  const jobs::MaybeAncestor whole = ancestor_of(context);
  if (!whole) tell_of_owners(context, whole.error(), plan);
  if (context.job.suspended()) return;
  Write write = patch_job(context, Verb::kPatch, context.job.kind().suspend_patch(true));
  const std::string why = context.job.why_unreadable();
  const std::string excess = whole && *whole ? excess_below(context, **whole) : "";
  if (!why.empty()) {
    write.events = {context.event(EventReason::kInvalidPodSets, "It cannot be queued: " + why)};
  } else if (!excess.empty()) {
    write.events = {context.event(EventReason::kSuspendedForExcess, "Suspended: " + excess)};
  } else {
    write.events = {context.event(EventReason::kSuspended, "Kueue managed child job suspended")};
  }
  plan.writes.push_back(std::move(write));
}

void leave_queue(const JobContext& context, Plan& plan) {
  if (jobs::prebuilt_workload_name_of(context.queues().rules, context.job.meta())) return;
  const auto job_end = context.job.end();
  for (const Workload* workload : context.state.by(state::kWorkloadsByOwner, {"", context.job.meta().uid})) {
    if (workload->finished()) {
      drop_in_use_finalizer(kWorkloads, workload->meta, plan);
    } else if (job_end && workload->has_quota_reserved() && has_left_pods(context, plan)) {
      continue;
    } else if (job_end) {
      finish_workload(context, *workload, finished_reason(*job_end), job_end->message, plan);
    } else if (context.job.suspended() && !needs_quota(context, plan)) {
      remove(context, *workload, plan);
    }
  }
}

}  // namespace muster::reconcilers
