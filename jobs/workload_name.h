// The name of the Workload that a job gets: readable, stable, and other for a namesake
// with another uid. Tools that find a job's Workload by its name depend on it.
// Source: Kueue, jobframework (the form is kind-name-hash).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/config/rule_settings.h"

namespace muster::jobs {

// The owner of a Workload.
struct WorkloadOwner {
  std::string_view group;  // "batch"
  std::string_view kind;   // "Job"
  std::string_view name;
  std::string_view uid;
};

// How long a name can be: as that of any object, or of a label value with the gate
// ShortWorkloadNames.
size_t max_workload_name(const RuleSettings& settings);

// "job-train-1a2b3". `extra` distinguishes the Workloads that one owner has over time (for an elastic job its
// generation); empty: none.
std::string workload_name(const WorkloadOwner& owner, std::string_view extra, size_t max_length);

}  // namespace muster::jobs
