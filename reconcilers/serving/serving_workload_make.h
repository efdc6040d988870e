// The Workloads of a StatefulSet or LeaderWorkerSet as they are created, and those of an older Kueue, which the set
// adopts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconcilers/job/job_workload_make.h"
#include "reconcilers/serving/serving_context.h"

namespace muster::reconcilers {

// The reference to the set, which is no controller: its pods own the Workload too.
nlohmann::json owner_of(const ServingContext& context);
bool has_owner(const nlohmann::json& owners, std::string_view uid);
nlohmann::json spec_of(const ServingContext& context, const WorkloadPriority& priority);
// The admission gates of the set; empty without the feature gate AdmissionGatedBy.
std::string gates_of(const ServingContext& context);

void make_workload(const ServingContext& context, int32_t group, std::string name, const WorkloadPriority& priority,
                   Plan& plan);

bool is_ours(const ServingContext& context, const Workload& workload);
// Kueue before 0.17 did not write whose it is: its name and its pods tell it. Pods that a user has made can be a group
// of the same name.
bool is_unmarked(const ServingContext& context, const Workload& workload);
void adopt(const ServingContext& context, int32_t group, const Workload& workload, Plan& plan);

}  // namespace muster::reconcilers
