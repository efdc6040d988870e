// A JobSet's replicatedJobs as the typed API prints them (jobs/typed_text.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "jobs/typed_text.h"

namespace muster::jobs {

// Fields in the order of the API's documentation, name first, without what is empty.
// Error messages show a list in this form.
std::string print_replicated_jobs(const nlohmann::json& replicated_jobs);
// The same of the list of this JobSet, or of `list` instead of it: null if the JobSet has none.
std::string print_replicated_jobs_of(const nlohmann::json& jobset, const nlohmann::json& list);

}  // namespace muster::jobs
