#include "api/pods/counts.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json_fwd.hpp>

#include "api/codec/json.h"

namespace muster {

int64_t pods_of_job_spec(const nlohmann::json& spec) {
  const int64_t parallelism = int_at(spec, {"parallelism"}).value_or(1);
  return std::min(parallelism, int_at(spec, {"completions"}).value_or(parallelism));
}

int32_t saturated_count(int64_t count) {
  return static_cast<int32_t>(std::clamp<int64_t>(count, 0, std::numeric_limits<int32_t>::max()));
}

}  // namespace muster
