#include "jobs/size_limit.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/resource_type.h"

namespace muster::jobs {

std::optional<FieldError> beyond_size_limit(const AdmissionRequest& request) {
  if (request.group != kJobSets.group) return std::nullopt;
  const size_t count = array_at(request.object, {"spec", "replicatedJobs"}).size();
  if (count <= kMostReplicatedJobs) return std::nullopt;
  return too_many("spec.replicatedJobs", count, kMostReplicatedJobs);
}

}  // namespace muster::jobs
