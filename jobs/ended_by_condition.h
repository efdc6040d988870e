// How a job says that it has ended, where conditions say it.
#pragma once

#include <optional>
#include <string_view>

#include "api/meta/object_meta.h"
#include "jobs/job_kind.h"

namespace muster::jobs {

// The first condition of the list that is true and of one of these types; nullopt: there is none.
inline std::optional<JobEnd> ended_by_condition(const Conditions& conditions, std::string_view success,
                                                std::string_view failure) {
  for (const Condition& condition : conditions) {
    if (!condition.is_true() || (condition.type != success && condition.type != failure)) continue;
    return JobEnd{.success = condition.type == success, .message = condition.message};
  }
  return std::nullopt;
}

}  // namespace muster::jobs
