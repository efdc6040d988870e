#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::queue_name_removal {
namespace {

// If every job without a queue name would get the default queue, removing the name would bypass the queues. Serving
// kinds have a separate rule (queue_name_immutable).
FieldErrors check(const Review& review) {
  const nlohmann::json& old_object = review.request.old_object;
  const jobs::JobKind* kind = jobs::checked_kind(review);
  if (!kind || kind->is_serving() || jobs::queue_name_of(old_object).empty()) return {};
  if (!jobs::queue_name_of(review.request.object).empty()) return {};
  if (!review.view.local_queue(string_at(old_object, {"metadata", "namespace"}), kDefaultLocalQueueName)) return {};
  return {invalid(FieldPath("metadata.labels").key(kQueueNameLabel), "",
                  "queue-name must not be empty in namespace with default queue")};
}

}  // namespace

extern const Validator rule = {
    .name = "queue_name_removal",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::queue_name_removal
