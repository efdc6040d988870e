// Annotations of Kueue that muster does not read are allowed with a warning. For example:
//
//   kind: Job
//   metadata: {annotations: {kueue.x-k8s.io/wait-for-pods-ready: '{"timeoutSeconds": 60}'}}
#include "jobs/unread_annotations.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::unread_annotations {
namespace {

FieldErrors check(const Review&) {
  return {};
}

// Once: where they are written.
std::vector<std::string> warn(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  const bool is_queue = review.request.resource == "clusterqueues";
  if (!is_queue && !jobs::is_queued_here(review)) return {};
  std::vector<std::string> sentences = jobs::unread_annotations_of(review.request.object, kind);
  if (review.request.operation != Operation::kUpdate || sentences.empty()) return sentences;
  const std::vector<std::string> before = jobs::unread_annotations_of(review.request.old_object, kind);
  std::erase_if(sentences, [&](const std::string& sentence) {
    return std::find(before.begin(), before.end(), sentence) != before.end();
  });
  return sentences;
}

}  // namespace

extern const Validator rule = {
    .name = "unread_annotations",
    .matches = {kQueuedJobs, {"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::unread_annotations
