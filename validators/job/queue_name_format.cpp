#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::queue_name_format {
namespace {

// A queue name is the name of a LocalQueue; an empty label does not mean "no queue".
FieldErrors check(const Review& review) {
  const auto queue = label(review.request.object, kQueueNameLabel);
  if (jobs::kind_of_checked_forms(review) == nullptr || !queue) return {};
  const auto complaints = is_dns1123_subdomain(*queue);
  if (complaints.empty()) return {};
  return {invalid(FieldPath("metadata.labels").key(kQueueNameLabel), *queue, join(complaints, ","))};
}

}  // namespace

extern const Validator rule = {
    .name = "queue_name_format",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::queue_name_format
