#include "test/world/webhooks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/group_scheduling.h"
#include "jobs/job_controller_users.h"
#include "jobs/job_kind.h"
#include "mutators/mutator.h"
#include "validators/validator.h"

namespace muster::world {
namespace {

using nlohmann::json;

Refusal no_answer() {
  return {reconcilers::WriteOutcome::kFailed, "failed calling webhook of muster: no endpoints available for service"};
}

bool is_group_config_map(const AdmissionRequest& request) {
  return string_at(request.object, {"metadata", "name"}).ends_with(jobs::kGroupConfigMapSuffix);
}

}  // namespace

bool Webhooks::is_queued_pod(const AdmissionRequest& request) const {
  if (!settings_.frameworks.contains("pod")) return false;
  return label(request.object, kQueueNameLabel) || label(request.old_object, kQueueNameLabel) ||
         annotation(request.object, kSuspendingParent);
}

// ConfigMaps with another name; pods without the label of gangs, and pods of the Job controller; and the node
// of a pod, which is a part of the spec here and a separate binding in Kubernetes.
bool Webhooks::is_spared(const AdmissionRequest& request) const {
  if (request.resource == kConfigMaps.plural) return !is_group_config_map(request);
  if (request.resource != kPods.plural) return false;
  if (request.operation == Operation::kUpdate && find_path(request.object, {"spec", "nodeName"}) != nullptr &&
      find_path(request.old_object, {"spec", "nodeName"}) == nullptr)
    return true;
  if (is_queued_pod(request)) return settings_.admitters.contains(request.user.username);
  const bool labelled = find_path(request.object, {"metadata", "labels", kGroupLabel}) != nullptr ||
                        find_path(request.old_object, {"metadata", "labels", kGroupLabel}) != nullptr;
  return !labelled || std::find(jobs::kJobControllerUsers.begin(), jobs::kJobControllerUsers.end(),
                                request.user.username) != jobs::kJobControllerUsers.end();
}

Webhooks::Webhooks(RuleSettings settings, std::function<ClusterViewPtr()> view)
    : settings_(std::move(settings)), view_(std::move(view)) {}

// The rules of the webhook configurations, in short.
bool Webhooks::concerns(const ResourceType& type, Operation operation) const {
  const jobs::JobKind* job = jobs::find_job_kind(type);
  const bool known = type == kJobs || type == kJobSets || type == kPods || type == kConfigMaps ||
                     (job != nullptr && job->is_enabled(settings_));
  return known && operation != Operation::kDelete;
}

std::optional<Refusal> Webhooks::mutate(const AdmissionRequest& request, json& object) {
  const bool foreign_pod =
      request.resource == kPods.plural && (!is_queued_pod(request) || request.operation != Operation::kCreate);
  if (being_deleted(request) || foreign_pod || request.resource == kConfigMaps.plural) return std::nullopt;
  const ClusterViewPtr view = view_();
  if (view == nullptr) return no_answer();
  const AdmissionResponse response = mutators::mutate({request, *view, settings_});
  if (!response.is_allowed()) return Refusal{.message = response.message()};
  if (!response.patch().empty()) object = request.object.patch(response.patch());
  return std::nullopt;
}

std::optional<Refusal> Webhooks::validate(const AdmissionRequest& request) {
  if (being_deleted(request) || is_spared(request)) return std::nullopt;
  const ClusterViewPtr view = view_();
  if (view == nullptr) return no_answer();
  const AdmissionResponse response = validators::validate({request, *view, settings_});
  if (response.is_allowed()) return std::nullopt;
  return Refusal{.message = response.message()};
}

}  // namespace muster::world
