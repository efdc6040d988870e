#include "reconcilers/job/job_workload_standing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "jobs/prebuilt_workload.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/workload/job_workload_status.h"
#include "state/pod_requests.h"

namespace muster::reconcilers {
namespace {

// What the containers of all pods request, and how many pods there are.
Requests requests_of(const std::vector<PodSet>& pod_sets) {
  Requests sum;
  for (const PodSet& pod_set : pod_sets) {
    Requests of_pod = to_requests(state::pod_requests(state::adjusted_resources(*pod_set.pod_template.spec, {})));
    of_pod["pods"] = 1;
    muster::add(sum, multiply(of_pod, pod_set.count));
  }
  return sum;
}

bool fits(const Requests& requests, const Requests& room) {
  return std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
    const auto found = room.find(request.first);
    return request.second <= (found == room.end() ? 0 : found->second);
  });
}

// Of this JobSet and of those that its controller got before it and that have not ended.
Requests requests_until(const JobContext& context) {
  const ObjectMeta& last = context.job.meta();
  Requests sum;
  context.state.for_each_of(kJobSets, [&](const TypedObject& object) {
    const ObjectMeta& meta = meta_of(object);
    if (meta.ns != last.ns || !meta.controller || meta.controller->uid != last.controller->uid) return;
    if (std::tie(last.created, last.name) < std::tie(meta.created, meta.name) || jobs::jobset.end(object)) return;
    muster::add(sum, requests_of(jobs::jobset.pod_set_shapes(object, context.queues().rules)));
  });
  return sum;
}

bool is_running(const Workload& workload) {
  return workload.admitted() && !workload.finished();
}

// The Workload of a JobSet counts the Jobs that its controller creates, so a JobSet below a JobSet is not counted. The
// controllers of other kinds create JobSets (the trainer, AppWrapper's), and so can each user who can create JobSets:
// what is counted is as much as the Workload of the whole has.
bool is_covered(const JobContext& context, const jobs::ManagedAncestor& ancestor) {
  const bool is_jobset = context.job.type().plural == kJobSets.plural;
  if (is_jobset && ancestor.kind == kJobSets.kind) return false;
  const std::vector<const Workload*> workloads = context.state.workloads_of_owner(ancestor.uid);
  return std::any_of(workloads.begin(), workloads.end(), [&](const Workload* workload) {
    return is_running(*workload) && (!is_jobset || fits(requests_until(context), requests_of(workload->pod_sets)));
  });
}

jobs::MaybeAncestor ancestor_of(const JobContext& context) {
  const RuleSettings& rules = context.queues().rules;
  const ObjectMeta& meta = context.job.meta();
  return jobs::managed_ancestor(rules, owners_in(context.state, rules, meta.ns), meta.uid, meta.controller);
}

// Why a JobSet is held, although the whole is admitted; empty: for another reason.
std::string excess_of(const JobContext& context) {
  const jobs::MaybeAncestor ancestor = ancestor_of(context);
  if (!ancestor.ok() || !*ancestor || (*ancestor)->kind == kJobSets.kind) return "";
  const std::vector<const Workload*> workloads = context.state.workloads_of_owner((*ancestor)->uid);
  if (std::none_of(workloads.begin(), workloads.end(), [](const Workload* each) { return is_running(*each); }))
    return "";
  return "this JobSet, with the older ones of its controller, requests more than the quota of " +
         jobs::text_of(**ancestor);
}

bool runs_with_quota(const JobContext& context) {
  const std::vector<const Workload*> workloads = context.state.workloads_of_owner(context.job.meta().uid);
  return std::any_of(workloads.begin(), workloads.end(), [](const Workload* workload) {
    return workload->admitted() && !workload->finished() && !workload->evicted() && !workload->meta.deleting;
  });
}

void remove(const JobContext& context, const Workload& workload, Plan& plan) {
  drop_in_use_finalizer(kWorkloads, workload.meta, plan);
  if (workload.meta.deleting) return;
  plan.writes.push_back(
      {.verb = Verb::kDelete,
       .target = key_of(kWorkloads, workload.meta),
       .uid = workload.meta.uid,
       .events = {context.event(kNormalEvent, "DeletedWorkload",
                                "Deleted Workload of a job that is in no queue any more: " + path_of(workload.meta))}});
}

}  // namespace

Result<Standing, jobs::Undecided> standing_of(const JobContext& context) {
  const RuleSettings& rules = context.queues().rules;
  const ObjectMeta& meta = context.job.meta();
  const TypedObject* ns = context.state.find(kNamespaces, "", meta.ns);
  const auto managed = jobs::in_managed_namespace(rules, meta.ns, ns == nullptr ? nullptr : &meta_of(*ns).labels);
  if (!managed) return fail_with(managed.error());
  if (!*managed) return Standing::kOutside;
  const jobs::MaybeAncestor ancestor = ancestor_of(context);
  if (!ancestor) return fail_with(ancestor.error());
  if (*ancestor) return is_covered(context, **ancestor) ? Standing::kCovered : Standing::kHeld;
  if (context.job.queue_name().empty() && !rules.manage_jobs_without_queue_name) return Standing::kFree;
  if (context.job.readable()) return Standing::kQueued;
  // Its requests are already counted.
  const bool awaits = !context.job.awaited().empty() && runs_with_quota(context);
  return awaits ? Standing::kOutside : Standing::kHeld;
}

void hold(const JobContext& context, Plan& plan) {
  if (context.job.suspended() || context.job.end()) return;
  Write write = patch_job(context, Verb::kPatch, context.job.kind().suspend_patch(true));
  const std::string why = context.job.why_unreadable(), excess = excess_of(context);
  if (!why.empty()) {
    write.events = {context.event(kWarningEvent, "InvalidPodSets", "It cannot be queued: " + why)};
  } else if (!excess.empty()) {
    write.events = {context.event(kWarningEvent, "Suspended", "Suspended: " + excess)};
  } else {
    write.events = {context.event(kNormalEvent, "Suspended", "Kueue managed child job suspended")};
  }
  plan.writes.push_back(std::move(write));
}

void leave_queue(const JobContext& context, Plan& plan) {
  if (jobs::prebuilt_workload_name_of(context.queues().rules, context.job.meta())) return;
  const auto job_end = context.job.end();
  for (const Workload* workload : context.state.workloads_of_owner(context.job.meta().uid)) {
    if (workload->finished()) {
      drop_in_use_finalizer(kWorkloads, workload->meta, plan);
    } else if (job_end) {
      const std::string_view reason = job_end->success ? kSucceededReason : kFailedReason;
      plan.writes.push_back(
          write_status(*workload, finished_status(*workload, reason, job_end->message, context.stamp())));
    } else if (context.job.suspended() && !context.job.active()) {
      remove(context, *workload, plan);
    }
  }
}

}  // namespace muster::reconcilers
