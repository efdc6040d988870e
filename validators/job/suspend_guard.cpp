#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "kinds/kind_description.h"
#include "validators/validator.h"

namespace muster::validators::suspend_guard {
namespace {

using nlohmann::json;

// The reason why a job cannot start now, and the remedy for its owner.
struct Obstacle {
  std::string state;  // 'this Job is queued in LocalQueue "q"'
  std::string advice;
};

Obstacle queued_by_itself(const Review& review, std::string_view queue) {
  const std::string keep = "to run it outside of the queue, create it again ";
  const std::string self = "this " + review.request.kind + " is queued";
  if (queue.empty()) {
    return {self + " (manageJobsWithoutQueueName)",
            keep + "in a namespace that managedJobsNamespaceSelector does not match"};
  }
  return {self + " in LocalQueue \"" + std::string(queue) + "\"",
          keep + "without the label " + std::string(kQueueNameLabel)};
}

// Whether the Workload of the topmost controller lets a part of it run. It counts the objects that its
// controller creates: the Jobs of a JobSet, the JobSet of a TrainJob.
bool covers(const jobs::ManagedAncestor& ancestor, const Review& review) {
  return review.view.is_admitted(ancestor.uid);
}

// Only muster starts a job that is queued by itself, and what an administrator has named in `admitters`: between an
// admission and a start of a user, the job can have changed. muster starts an admitted job at once, so no user has to.
// Where a person runs muster, muster is not known by its name.
bool can_start_queued(const Review& review) {
  const RuleSettings& settings = review.settings;
  const std::string& user = review.request.user.username;
  if (!settings.admitters.empty()) return jobs::is_admitter(review) && user != settings.jobset_controller;
  return review.view.is_admitted(string_at(review.request.old_object, {"metadata", "uid"}));
}

// The state before the request counts: a request cannot remove a job from its queue and start it at the same
// time. If the owners do not decide whether an ancestor is managed, the job's own label or namespace decides.
// When jobs are created, the mutators suspend all jobs except parts of others (see created_stopped).
std::optional<Obstacle> starts_past_the_queue(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  const AdmissionRequest& request = review.request;
  if (!kind || kind->suspended(request.object) || can_start_queued(review)) return std::nullopt;
  const bool created = request.operation == Operation::kCreate;
  if (!created && !kind->suspended(request.old_object)) return std::nullopt;
  const json& before = created ? request.object : request.old_object;
  const jobs::MaybeAncestor ancestor = jobs::managed_ancestor(review, before);
  if (ancestor.ok() && *ancestor) {
    if (jobs::is_admitter(review) || covers(**ancestor, review)) return std::nullopt;
    return Obstacle{"this " + request.kind + " is part of " + jobs::text_of(**ancestor) + ", which is queued",
                    "it starts when its owner is admitted"};
  }
  if (created || !jobs::is_queued_by_itself(review, before)) return std::nullopt;
  return queued_by_itself(review, jobs::queue_name_of(before));
}

std::string where(const Review& review) {
  return jobs::enabled_kind(review)->suspend_path().text();
}

// The value that keeps the job in its queue, for kinds that a description defines; Jobs and JobSets keep Kueue's field.
std::string value_to_keep(const jobs::JobKind& kind) {
  if (find_described_kind(kind.type.group, kind.type.kind) == nullptr) return "";
  return " (" + kind.suspend_path().text() + " must stay " + (kind.suspended_when() ? "true" : "false") + ")";
}

FieldErrors check(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kEnforce) return {};
  const auto obstacle = starts_past_the_queue(review);
  if (!obstacle) return {};
  return {forbidden(where(review), obstacle->state + " and is unsuspended by muster on admission; user \"" +
                                       review.request.user.username + "\" cannot unsuspend it" +
                                       value_to_keep(*jobs::enabled_kind(review)) + "; " + obstacle->advice)};
}

std::vector<std::string> warn(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kObserve) return {};
  const auto obstacle = starts_past_the_queue(review);
  if (!obstacle) return {};
  return {where(review) + ": " + obstacle->state +
          " and was unsuspended before its admission; with suspendGuard: enforce "
          "this is rejected"};
}

}  // namespace

extern const Validator rule = {
    .name = "suspend_guard",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::suspend_guard
