// A job that would wait for ever, because muster cannot give what its pods ask for, is allowed with a warning: another
// configuration can do without the queue, and Kueue can take the job over. For example:
//
//   kind: Job
//   spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}}}
#include "jobs/unmet_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/texts/unmet_requests.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::unmet_requests {
namespace {

FieldErrors check(const Review&) {
  return {};
}

// Once: where they are written.
std::vector<std::string> warn(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (kind == nullptr || !jobs::is_queued_here(review)) return {};
  std::vector<jobs::UnmetRequest> before;
  if (review.request.operation == Operation::kUpdate)
    before = jobs::unmet_requests_of(review.settings, *kind, review.request.old_object);
  std::vector<std::string> sentences;
  for (const jobs::UnmetRequest& request : jobs::unmet_requests_of(review.settings, *kind, review.request.object)) {
    if (std::any_of(before.begin(), before.end(), [&](const auto& old) { return old.place == request.place; }))
      continue;
    // The API server cuts a warning after 256 characters.
    const bool topology = request.problem == kAsksForTopology;
    sentences.push_back(request.place + ": " + std::string(request.problem) + ", so it waits for ever; remove " +
                        (topology ? "the annotation" : "it"));
  }
  return sentences;
}

}  // namespace

extern const Validator rule = {
    .name = "unmet_requests",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::unmet_requests
