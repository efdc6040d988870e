// The name of a queue is a label. As an annotation, as in the first versions of Kueue, it has no effect, and a warning
// says so; for an update only if it adds the annotation. A warning is given, for example:
//
//   kind: Job
//   metadata: {annotations: {kueue.x-k8s.io/queue-name: main}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::queue_annotation {
namespace {

// The annotation, if it says something else than the label.
std::string_view queue_in_annotation(const nlohmann::json& object) {
  const std::string_view queue = annotation(object, kQueueNameLabel).value_or("");
  return queue == jobs::queue_name_of(object) ? std::string_view() : queue;
}

FieldErrors check(const Review&) {
  return {};
}

std::vector<std::string> warn(const Review& review) {
  const AdmissionRequest& request = review.request;
  const std::string_view queue = queue_in_annotation(request.object);
  if (queue.empty() || jobs::enabled_kind(review) == nullptr || controller_of(request.object)) return {};
  if (queue_in_annotation(request.old_object) == queue) return {};
  const std::string place = FieldPath("metadata.annotations").key(kQueueNameLabel);
  const std::string_view label = jobs::queue_name_of(request.object);
  const std::string now = label.empty() ? "it runs at once and without quota" : "it is in queue " + std::string(label);
  return {place + ": an annotation does not put a " + request.kind + " into a queue, " + now + "; set the label " +
          std::string(kQueueNameLabel)};
}

}  // namespace

extern const Validator rule = {
    .name = "queue_annotation",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::queue_annotation
