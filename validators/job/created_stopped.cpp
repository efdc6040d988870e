// What is in a queue is stopped when it is created: a job is suspended, a pod has the gate, a serving set marks its
// pods. muster's mutating webhook does this. Another mutating webhook that the API server calls later can add the
// queue's name to the object, or start it again, and no webhook is called for the first time after that. Rejected, for
// example, is the creation of a Job with
//
//   metadata: {labels: {kueue.x-k8s.io/queue-name: main}}
//   spec: {suspend: false}
//
// as it is after all mutating webhooks.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::created_stopped {
namespace {

using nlohmann::json;

// An owner that is not known yet does not take the object out of its queue.
bool is_queued(const Review& review) {
  const json& object = review.request.object;
  const auto queued = jobs::is_queued(review, object);
  return queued ? *queued : !jobs::queue_name_of(object).empty();
}

bool is_queued_pod(const Review& review) {
  if (annotation(review.request.object, kSuspendingParent)) return true;
  const auto managed = jobs::in_managed_namespace(review);
  return managed && *managed && is_queued(review);
}

std::string state_of(const std::string& kind, std::string_view queue) {
  const std::string place = queue.empty() ? "" : " in LocalQueue \"" + std::string(queue) + "\"";
  return "this " + kind + " is queued" + place +
         ", but a webhook after muster's added the queue or started it; rename its MutatingWebhookConfiguration so "
         "that it "
         "sorts before \"muster\"";
}

FieldErrors unmarked_templates(const Review& review, const jobs::JobKind& kind, const std::string& why) {
  FieldErrors errors;
  for (const jobs::ConstPodTemplateRef& ref : kind.read_pod_templates(review.request.object)) {
    if (annotation(*ref.template_json, kSuspendingParent)) continue;
    errors.push_back(forbidden(ref.path.child("metadata").child("annotations").key(kSuspendingParent), why));
  }
  return errors;
}

FieldErrors errors_in(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (kind == nullptr) return {};
  const json& object = review.request.object;
  const bool refused_by_schema = object_at(object, {"spec"}).empty();
  if (refused_by_schema || !string_at(object, {"metadata", "deletionTimestamp"}).empty()) return {};
  const std::string why = state_of(review.request.kind, jobs::queue_name_of(object));
  if (kind->is_serving()) return is_queued(review) ? unmarked_templates(review, *kind, why) : FieldErrors();
  if (kind->suspended(object)) return {};
  const bool queued = kind == &jobs::plain_pod ? is_queued_pod(review) : is_queued(review);
  return queued ? FieldErrors{forbidden(kind->suspend_path().text(), why)} : FieldErrors();
}

FieldErrors check(const Review& review) {
  return if_enforced(review, errors_in);
}

std::vector<std::string> warn(const Review& review) {
  return if_observed(review, errors_in);
}

}  // namespace

extern const Validator rule = {
    .name = "created_stopped",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::created_stopped
