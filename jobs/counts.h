// How many pods a batch/v1 JobSpec makes, alone or inside a JobSet.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace muster {

// min(parallelism, completions): parallelism is 1 when unset, and without
// completions it alone counts. `spec` is a JobSpec.
int64_t pods_of_job_spec(const nlohmann::json& spec);

}  // namespace muster
