#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::queue_name_immutable {
namespace {

// A running job uses the quota of its queue; only a stopped job can move to another queue.
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::checked_kind(review);
  const nlohmann::json& object = review.request.object;
  if (!kind) return {};
  const std::string_view queue = jobs::queue_name_of(object);
  // A serving object can change its queue, but it cannot leave the queues.
  if (kind->stopped(object) && !(kind->is_serving() && queue.empty())) return {};
  if (queue == jobs::queue_name_of(review.request.old_object)) return {};
  return {invalid(FieldPath("metadata.labels").key(kQueueNameLabel), queue, "field is immutable")};
}

}  // namespace

extern const Validator rule = {
    .name = "queue_name_immutable",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::queue_name_immutable
