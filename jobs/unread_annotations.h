// Annotations of Kueue 0.20 that muster does not read. A user has to be told: they are silently without effect
// otherwise.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/job_kind.h"

namespace muster::jobs {

// One sentence for each such annotation of the object and, with its kind, of its pod templates. `kind` can be null.
std::vector<std::string> unread_annotations_of(const nlohmann::json& object, const JobKind* kind);

}  // namespace muster::jobs
