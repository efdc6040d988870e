#include "reconcilers/job/job_workload_choice.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "api/workload_conditions.h"
#include "jobs/prebuilt_workload.h"
#include "reconcilers/in_use.h"
#include "reconcilers/job/job_workload_infos.h"
#include "reconcilers/job/job_workload_make.h"
#include "reconcilers/job/job_workload_run.h"
#include "reconcilers/job/prebuilt_difference.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;
using Workloads = std::vector<const Workload*>;

constexpr WorkloadChoice kWritten{.step = Step::kDone};

void update(const Workload& workload, json spec, std::vector<ObjectEvent> events, Plan& plan) {
  Write write = patch_workload(workload, Verb::kPatch, {{"spec", std::move(spec)}});
  write.events = std::move(events);
  plan.writes.push_back(std::move(write));
}

// The pods of a job that was just stopped need the quota until they have ended. Kueue gives it away at once.
bool is_in_use(const JobContext& context, const Workload& workload, Plan& plan) {
  return workload.has_quota_reserved() && !workload.finished() && !context.job.end() && needs_quota(context, plan);
}

// --- A Workload that the user has created ---

// A Workload that a user, or a controller that muster does not know, has made for a job: no other job and no pod has
// ever used it. Those that Kueue or muster have made or taken say so in a label or an annotation, also after the end of
// their jobs.
bool is_for_the_taking(const JobContext& context, const Workload& workload) {
  const std::string_view job = workload.meta.label(kJobUidLabel);
  return !workload.of_pod_group() && (job.empty() || job == context.job.meta().uid);
}

void take(const JobContext& context, const Workload& workload, Plan& plan) {
  const ObjectMeta& job = context.job.meta();
  json metadata = {{"ownerReferences", json::array({controller_reference(context.job.type(), job, true)})}};
  if (is_valid_label_value(job.uid).empty()) metadata["labels"][std::string(kJobUidLabel)] = job.uid;
  plan.writes.push_back(patch_workload(workload, Verb::kPatch, {{"metadata", std::move(metadata)}}));
}

WorkloadChoice adopt_prebuilt(const JobContext& context, std::string_view name, Plan& plan) {
  const Workload* workload = context.state.find<Workload>(context.job.meta().ns, name);
  if (workload == nullptr) return {};
  const auto& controller = workload->meta.controller;
  if (controller && controller->uid != context.job.meta().uid) {
    plan.events.push_back(context.event(EventReason::kPrebuiltWorkloadTaken,
                                        "Workload " + path_of(workload->meta) + " belongs to " + controller->kind +
                                            " " + controller->name + "; name another, or have one made"));
    return {};
  }
  if (!controller && !is_for_the_taking(context, *workload)) {
    plan.events.push_back(context.event(EventReason::kPrebuiltWorkloadTaken,
                                        "Workload " + path_of(workload->meta) +
                                            " was made for another job or for a group of pods; name another, or have "
                                            "one made"));
    return {};
  }
  if (!controller) {
    take(context, *workload, plan);
    return kWritten;
  }
  if (workload->finished() || workload->meta.deleting || is_equivalent(context, *workload) ||
      is_equivalent(context, with_container_defaults(*workload)))
    return {.workload = workload};
  // A job that runs on it, and was changed, stops first.
  const bool stops = workload->has_quota_reserved() && !context.job.end();
  if (stops &&
      advance_stop(context, workload, "The prebuilt workload is out of sync with its user job", plan) == Step::kDone)
    return kWritten;
  if (is_in_use(context, *workload, plan)) return kWritten;
  const std::string difference = difference_of_prebuilt(context, *workload);
  finish_workload(context, *workload, kOutOfSyncReason, "The prebuilt workload is out of sync with its user job", plan,
                  context.event(EventReason::kPrebuiltWorkloadOutOfSync,
                                "Workload " + path_of(workload->meta) + " does not suit this job" +
                                    (difference.empty() ? "" : ": " + difference)));
  return kWritten;
}

// --- An elastic job: its Workload follows its counts ---

// All but their counts.
bool same_but_counts(const std::vector<PodSet>& one, const std::vector<PodSet>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const PodSet& a, const PodSet& b) {
    return a.name == b.name && jobs::same_charged_fields(a.pod_template.spec, b.pod_template.spec);
  });
}

// Pod sets can shrink at any time, and grow while no quota is reserved. nullopt: this is
// another change, to be treated as that of any job.
std::optional<WorkloadChoice> update_counts(const JobContext& context, const Workloads& owned, Plan& plan) {
  Workloads alive;
  std::copy_if(owned.begin(), owned.end(), std::back_inserter(alive),
               [](const Workload* workload) { return !workload->finished(); });
  if (alive.size() != 1) return std::nullopt;
  const Workload& workload = *alive.front();
  const std::vector<PodSet> wanted = context.job.pod_set_shapes(context.queues().rules);
  if (!same_but_counts(wanted, workload.pod_sets)) return std::nullopt;
  std::vector<PodSet> counted = workload.pod_sets;
  bool grows = false;
  bool changes = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    grows |= wanted[i].count > counted[i].count;
    changes |= wanted[i].count != counted[i].count;
    counted[i].count = wanted[i].count;
  }
  if (!changes) return WorkloadChoice{.workload = &workload};
  if (grows && workload.has_quota_reserved()) return std::nullopt;
  update(workload, {{"podSets", muster::to_json(counted)}}, {}, plan);
  return kWritten;
}

// --- The Workloads that were created for the job ---

struct Sorted {
  const Workload* match = nullptr;
  Workloads others;
};

Sorted sort(const JobContext& context, const Workloads& owned) {
  Sorted sorted;
  for (const Workload* workload : owned) {
    if (sorted.match == nullptr && is_equivalent(context, *workload)) {
      sorted.match = workload;
    } else {
      sorted.others.push_back(workload);
    }
  }
  return sorted;
}

WorkloadChoice make_match(const JobContext& context, const Workload& workload, Plan& plan) {
  if (const auto priority = priority_or_event(context, plan)) {
    update(workload, remake_spec(context, *priority),
           {context.event(EventReason::kUpdatedWorkload,
                          "Updated not matching Workload for suspended job: " + path_of(workload.meta))},
           plan);
  }
  return kWritten;
}

// The priority class of a job can change while it waits or runs, and its admission gates can be removed.
WorkloadChoice update_from_job(const JobContext& context, const Workload& workload, Plan& plan) {
  const auto gates = gates_left(context.queues().rules, context.job.meta(), workload);
  const bool other_class = names_other_class(context, workload);
  if (!gates && !other_class) return {.workload = &workload};
  json patch;
  std::vector<ObjectEvent> events;
  const auto record_update = [&](const std::string& note) {
    events.push_back(context.event(EventReason::kUpdatedWorkload, note));
  };
  if (gates) {
    patch["metadata"]["annotations"] = annotations_with(*gates);
    record_update(note_of(*gates));
  }
  if (const auto priority = other_class ? priority_or_event(context, plan) : std::nullopt) {
    patch["spec"] = to_json(*priority);
    record_update("Updated workload priority class: " + path_of(workload.meta));
  }
  // A class that does not exist leaves the old one, and must not keep an end or an eviction from the Workload.
  if (patch.is_null()) return {.workload = &workload};
  Write write = patch_workload(workload, Verb::kPatch, std::move(patch));
  write.events = std::move(events);
  plan.writes.push_back(std::move(write));
  return kWritten;
}

// While it runs, a job without its Workload is stopped. Of a job that its user has suspended and changed, the templates
// are restored: the next start can have other values.
Step stop_without_match(const JobContext& context, const Workloads& others, Plan& plan) {
  if (context.job.end()) return Step::kContinue;
  // With several Workloads it is unknown which one the job was started by.
  const Workload* like = others.size() == 1 ? others.front() : nullptr;
  if (context.job.stopped() && (like == nullptr || !like->admitted())) return Step::kContinue;
  const char* note = like == nullptr ? "Missing Workload; unable to restore pod templates"
                                     : "No matching Workload; restoring pod templates according to existent Workload";
  return advance_stop(context, like, note, plan);
}

WorkloadChoice keep_one_of(const JobContext& context, const Workloads& owned, Plan& plan) {
  Sorted sorted = sort(context, owned);
  const Workload* to_update = nullptr;
  if (sorted.match == nullptr) {
    if (!sorted.others.empty() && context.job.stopped() && !sorted.others.front()->has_quota_reserved() &&
        !sorted.others.front()->finished() && !sorted.others.front()->meta.deleting) {
      to_update = sorted.others.front();
      sorted.others.erase(sorted.others.begin());
    } else if (stop_without_match(context, sorted.others, plan) == Step::kDone) {
      return kWritten;
    }
  }
  for (const Workload* other : sorted.others) {
    if (sorted.match != nullptr || !is_in_use(context, *other, plan)) remove_workload(context, *other, plan);
  }
  if (!sorted.others.empty()) return kWritten;
  if (to_update != nullptr) return make_match(context, *to_update, plan);
  if (sorted.match == nullptr) return {};
  const bool over = sorted.match->finished() || sorted.match->meta.deleting;
  return over ? WorkloadChoice{.workload = sorted.match} : update_from_job(context, *sorted.match, plan);
}

}  // namespace

void remove_workload(const JobContext& context, const Workload& workload, Plan& plan) {
  delete_in_use(
      kWorkloads, workload.meta, plan,
      {context.event(EventReason::kDeletedWorkload, "Deleted not matching Workload: " + path_of(workload.meta))});
}

WorkloadChoice keep_one_workload(const JobContext& context, Plan& plan) {
  const RuleSettings& rules = context.queues().rules;
  if (const auto prebuilt = jobs::prebuilt_workload_name_of(rules, context.job.meta()))
    return adopt_prebuilt(context, prebuilt->name, plan);
  const Workloads owned = context.state.by(state::kWorkloadsByOwner, {"", context.job.meta().uid});
  if (context.job.elastic(rules)) {
    if (const auto choice = update_counts(context, owned, plan)) return *choice;
  }
  return keep_one_of(context, owned, plan);
}

}  // namespace muster::reconcilers
