#include <nlohmann/json.hpp>

#include "api/constants.h"
#include "api/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// What was queued before the request is what counts: a request cannot take a job out
// of its queue and start it in one. When the owners leave it open whether an ancestor
// is managed, the job's own label or namespace decides.
bool was_queued(const Review& review) {
  const json& before = review.request.old_object;
  const auto queued = is_queued(review, before);
  if (queued.ok()) return *queued;
  return !queue_name_of(before).empty() || review.settings.manage_jobs_without_queue_name;
}

bool starts_past_the_queue(const Review& review) {
  const JobKind* kind = enabled_kind(review);
  const AdmissionRequest& request = review.request;
  if (!kind || !kind->suspended(request.old_object) || kind->suspended(request.object)) return false;
  if (review.settings.admitters.contains(request.user.username)) return false;
  return !review.view.is_admitted(string_at(request.old_object, {"metadata", "uid"})) && was_queued(review);
}

// 'this Job is queued in LocalQueue "q"'.
std::string state_of(const Review& review) {
  const std::string_view queue = queue_name_of(review.request.old_object);
  const std::string where = queue.empty() ? " (manageJobsWithoutQueueName)" : " in LocalQueue " + in_quotes(queue);
  return "this " + review.request.kind + " is queued" + where;
}

std::string way_out(const Review& review) {
  return queue_name_of(review.request.old_object).empty()
             ? "in a namespace that managedJobsNamespaceSelector does not match"
             : "without the label " + std::string(kQueueNameLabel);
}

FieldErrors check(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kEnforce || !starts_past_the_queue(review)) return {};
  return {forbidden("spec.suspend", state_of(review) + " and is resumed when it is admitted, not by user " +
                                        in_quotes(review.request.user.username) +
                                        "; leave spec.suspend at true, or create it anew " + way_out(review) +
                                        " to run it outside of the queue")};
}

std::vector<std::string> warn(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kObserve || !starts_past_the_queue(review)) return {};
  return {"spec.suspend: " + state_of(review) +
          " and was resumed before it was admitted; with suspendGuard: enforce "
          "this is rejected"};
}

}  // namespace

extern const Validator suspend_guard = {
    .name = "suspend_guard",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster
