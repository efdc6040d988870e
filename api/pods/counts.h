// Numbers of pods that users write.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace muster {

// How many pods a batch/v1 JobSpec makes, alone or inside another object:
// min(parallelism, completions): parallelism is 1 when unset, and without
// completions it alone counts. `spec` is a JobSpec.
int64_t pods_of_job_spec(const nlohmann::json& spec);

// What is below zero is zero. The largest count stands for all that are larger: no quota has place for it.
int32_t saturated_count(int64_t count);

}  // namespace muster
