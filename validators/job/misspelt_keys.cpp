// A label or annotation that differs from a known key by a letter or two is allowed with a warning: it has no effect,
// so the job can run at once and without quota. For example:
//
//   kind: Job
//   metadata: {labels: {kueue.x-k8s.io/queue-nam: research}}
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/owner_reference.h"
#include "jobs/management.h"
#include "jobs/unread_annotations.h"
#include "validators/validator.h"

namespace muster::validators::misspelt_keys {
namespace {

FieldErrors check(const Review&) {
  return {};
}

// Once: where they are written. The Jobs of a JobSet and the pods of a Job have the keys of their owner.
std::vector<std::string> warn(const Review& review) {
  const AdmissionRequest& request = review.request;
  if (controller_of(request.object)) return {};
  const jobs::JobKind* kind = jobs::find_job_kind(request.group, request.kind);
  std::vector<std::string> sentences = jobs::misspelt_keys_of(request.object, kind);
  if (request.operation != Operation::kUpdate || sentences.empty()) return sentences;
  const std::vector<std::string> before = jobs::misspelt_keys_of(request.old_object, kind);
  std::erase_if(sentences, [&](const std::string& sentence) {
    return std::find(before.begin(), before.end(), sentence) != before.end();
  });
  return sentences;
}

}  // namespace

extern const Validator rule = {
    .name = "misspelt_keys",
    .matches = {kQueuedJobs, {"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::misspelt_keys
