#include "simulation/webhooks.h"

#include <nlohmann/json.hpp>

#include "mutators/mutator.h"
#include "validators/validator.h"

namespace muster::simulation {
namespace {

using nlohmann::json;

Refusal no_answer() {
  return {WriteOutcome::kFailed, "failed calling webhook of muster: no endpoints available for service"};
}

}  // namespace

Webhooks::Webhooks(RuleSettings settings, std::function<ClusterViewPtr()> view)
    : settings_(std::move(settings)), view_(std::move(view)) {}

// The rules of the webhook configurations, in short.
bool Webhooks::concerns(const ResourceType& type, Operation operation) const {
  return (type.plural == kJobs.plural || type.plural == kJobSets.plural) && operation != Operation::kDelete;
}

std::optional<Refusal> Webhooks::mutate(const AdmissionRequest& request, json& object) {
  if (being_deleted(request)) return std::nullopt;
  const ClusterViewPtr view = view_();
  if (view == nullptr) return no_answer();
  const AdmissionResponse response = muster::mutate({request, *view, settings_});
  if (!response.is_allowed()) return Refusal{.message = response.message()};
  if (!response.patch().empty()) object = request.object.patch(response.patch());
  return std::nullopt;
}

std::optional<Refusal> Webhooks::validate(const AdmissionRequest& request) {
  if (being_deleted(request)) return std::nullopt;
  const ClusterViewPtr view = view_();
  if (view == nullptr) return no_answer();
  const AdmissionResponse response = muster::validate({request, *view, settings_});
  if (response.is_allowed()) return std::nullopt;
  return Refusal{.message = response.message()};
}

}  // namespace muster::simulation
