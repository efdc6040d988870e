// A check for some flavors names flavors that the queue has. Rejected, for example:
//
//   admissionChecks: [{name: budget, onFlavors: [sopt]}]
//
// Without the gate RejectUpdatesToCQWithInvalidOnFlavors, a queue that was stored with such a check can still be
// changed elsewhere.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/enough_errors.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_check_flavors {
namespace {

using nlohmann::json;

using FlavorSet = std::set<json>;

const json& checks_of(const json& queue) {
  return array_at(queue, {"spec", "admissionChecksStrategy", "admissionChecks"});
}

FlavorSet flavors_of(const json& check) {
  const json& flavors = array_at(check, {"onFlavors"});
  return {flavors.begin(), flavors.end()};
}

// What each check of the old queue names, by the check's name. None if the queue's own flavors change.
std::map<std::string_view, FlavorSet> kept_flavors(const Review& review) {
  if (review.request.operation != Operation::kUpdate ||
      review.settings.enabled(Gate::kRejectUpdatesToCQWithInvalidOnFlavors) ||
      jobs::flavor_names_of(review.request.old_object) != jobs::flavor_names_of(review.request.object))
    return {};
  std::map<std::string_view, FlavorSet> kept;
  for (const json& check : checks_of(review.request.old_object)) kept[string_at(check, {"name"})] = flavors_of(check);
  return kept;
}

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const json& checks = checks_of(object);
  if (checks.empty()) return {};
  const std::vector<std::string> known = jobs::flavor_names_of(object);
  const auto kept = kept_flavors(review);
  FieldErrors errors;
  size_t i = 0;
  for (const json& one : checks) {
    const FieldPath path = FieldPath("spec.admissionChecksStrategy.admissionChecks").index(i++).child("onFlavors");
    const auto before = kept.find(string_at(one, {"name"}));
    if (before != kept.end() && before->second == flavors_of(one)) continue;
    size_t j = 0;
    for (const json& flavor : array_at(one, {"onFlavors"})) {
      const std::string field = path.index(j++);
      const auto* name = flavor.get_ptr<const std::string*>();
      if (errors.size() == kEnoughErrors) return errors;
      if (name == nullptr || std::binary_search(known.begin(), known.end(), *name)) continue;
      FieldError error = not_supported(field, *name, known);
      if (known.empty()) error.detail.clear();
      errors.push_back(std::move(error));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_check_flavors",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::clusterqueue_check_flavors
