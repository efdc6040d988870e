#include "jobs/counts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {

int64_t pods_of_job_spec(const nlohmann::json& spec) {
  const int64_t parallelism = int_at(spec, {"parallelism"}).value_or(1);
  return std::min(parallelism, int_at(spec, {"completions"}).value_or(parallelism));
}

}  // namespace muster
