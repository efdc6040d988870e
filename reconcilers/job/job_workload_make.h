// A job's Workload as it is created, or created again. Pure. Source: Kueue,
// jobframework.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

struct WorkloadPriority {
  int32_t value = 0;
  std::optional<PriorityClassRef> source;  // nullopt: no class is set
};
// The job's WorkloadPriorityClass, else the PriorityClass of the first pod set that names one, else the
// cluster's default, else 0. nullopt: that class does not exist.
std::optional<WorkloadPriority> priority_of(const JobContext& context);
// The same; a missing WorkloadPriorityClass, which a user can fix, is reported by an event.
std::optional<WorkloadPriority> priority_or_event(const JobContext& context, Plan& plan);

// The job names another class than its Workload has. The class of its pods cannot change, and the API server refuses a
// first class while quota is reserved.
bool names_other_class(const JobContext& context, const Workload& workload);

// The admission gates that the job has left, if the Workload has more of them. Gates are only removed: the webhook
// refuses others, also from muster. nullopt as well without the feature gate AdmissionGatedBy.
std::optional<std::string> gates_left(const RuleSettings& rules, const ObjectMeta& job, const Workload& workload);
// A Workload's annotations as a merge patch with these gates, and the note of the job's event.
nlohmann::json annotations_with(const std::string& gates);
std::string note_of(const std::string& gates);

// The patch of `spec` with a priority; null for what there is not.
nlohmann::json to_json(const WorkloadPriority& priority);

std::string name_of_workload(const JobContext& context);
// The whole object.
nlohmann::json make_workload(const JobContext& context, const WorkloadPriority& priority);
// The write that creates this Workload, with its events and measurement. `kind` and `job` are what a user has made.
Write creation_of(const JobContext& context, ObjectKey workload, nlohmann::json body, std::string_view kind,
                  const ObjectMeta& job);
// Its spec as a merge patch of one that is there, whose `active` stays.
nlohmann::json remake_spec(const JobContext& context, const WorkloadPriority& priority);

// A Workload that was made for this job gets its controller back. While no webhook refuses it, a user can replace the
// controller by an object that muster does not run; muster could not preempt the Workload then (can_be_stopped), and
// its quota would be in use until it is deleted.
Step take_back(const JobContext& context, Plan& plan);

}  // namespace muster::reconcilers
