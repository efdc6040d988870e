#include "mutators/record_submitter.h"

#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"
#include "api/meta/submitter.h"
#include "jobs/edit.h"
#include "jobs/management.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

// Parts of other jobs have no separate Workload, and no submitter.
bool is_submitted(const Review& review, const json& object) {
  return jobs::enabled_kind(review) != nullptr && jobs::is_queued_by_itself(review, object) &&
         !jobs::has_enabled_controller(review.settings, object);
}

// Empty: none is recorded. What stands on a job in no queue proves nothing: no webhook sees every such object.
std::string submitter_of(const Review& review, const json& object) {
  const AdmissionRequest& request = review.request;
  if (request.operation == Operation::kUpdate && is_submitted(review, request.old_object))
    return std::string(annotation(request.old_object, kSubmitterAnnotation).value_or(""));
  const bool records = review.settings.record_submitter && is_recorded_name(request.user.username);
  return records && is_submitted(review, object) ? request.user.username : "";
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const std::string submitter = submitter_of(review, object);
  if (!submitter.empty()) {
    json* annotations = jobs::make_object(object, {"metadata", "annotations"});
    if (annotations != nullptr) (*annotations)[std::string(kSubmitterAnnotation)] = submitter;
  } else if (json* annotations = jobs::existing_object(object, {"metadata", "annotations"})) {
    annotations->erase(std::string(kSubmitterAnnotation));
  }
  return std::nullopt;
}

}  // namespace

const Mutator record_submitter = {
    .name = "record_submitter",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
