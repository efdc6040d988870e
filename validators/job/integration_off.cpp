// A queue name on a Job or a JobSet, a label or an annotation, has no effect if integrations.frameworks does not
// contain the kind: the object runs at once and without quota, as in Kueue. A user who requests a queue gets a warning;
// for an update only if it adds the name. With unqueuedKinds: Deny the request is refused. A warning is given, for
// example, with frameworks: [batch/job]:
//
//   kind: JobSet
//   metadata: {labels: {kueue.x-k8s.io/queue-name: main}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "jobs/job_kind.h"
#include "validators/validator.h"

namespace muster::validators::integration_off {
namespace {

bool names_queue(const nlohmann::json& object) {
  return label(object, kQueueNameLabel).has_value() || annotation(object, kQueueNameLabel).has_value();
}

// The warning; empty: no warning.
std::string notice(const Review& review) {
  const AdmissionRequest& request = review.request;
  const jobs::JobKind* kind = jobs::find_job_kind(request.group, request.kind);
  if (kind == nullptr || review.settings.frameworks.contains(kind->framework)) return "";
  if (controller_of(request.object) || !names_queue(request.object) || names_queue(request.old_object)) return "";
  return "muster does not queue " + request.kind + "s here, as integrations.frameworks lacks " +
         std::string(kind->framework) + ": it runs at once and without quota";
}

std::string_view map_of(const Review& review) {
  return label(review.request.object, kQueueNameLabel) ? "label" : "annotation";
}

FieldPath field(const Review& review) {
  return FieldPath("metadata").child(std::string(map_of(review)) + "s").key(kQueueNameLabel);
}

FieldErrors check(const Review& review) {
  const std::string said = review.settings.deny_unqueued ? notice(review) : "";
  if (said.empty()) return {};
  return {forbidden(field(review), said + "; remove the " + std::string(map_of(review)) +
                                       ", or ask an administrator to add the framework")};
}

std::vector<std::string> warn(const Review& review) {
  const std::string said = notice(review);
  if (said.empty()) return {};
  return {field(review).text() + ": " + said};
}

}  // namespace

extern const Validator rule = {
    .name = "integration_off",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::integration_off
