// The content of a gang's ConfigMap opens the start barrier, so only muster can write it. Rejected: a ConfigMap
// whose name ends in -group-scheduling, with a key `started`, `expired` or `deadlines` that a user has created
// or changed; also with a name that has no gang yet.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::gang_config_maps {
namespace {

using nlohmann::json;

// As text or as bytes: in the volume both are files.
json verdict_in(const json& config_map, std::string_view key) {
  json verdict = json::array();
  for (const char* map : {"data", "binaryData"}) {
    const json* value = find_path(config_map, {map, key});
    verdict.push_back(value == nullptr ? json() : *value);
  }
  return verdict;
}

FieldErrors check(const Review& review) {
  const AdmissionRequest& request = review.request;
  if (!string_at(request.object, {"metadata", "name"}).ends_with(jobs::kGroupConfigMapSuffix)) return {};
  const std::string& user = request.user.username;
  if (jobs::is_admitter(review) || (!user.empty() && user == review.settings.own_name)) return {};
  FieldErrors errors;
  for (const std::string_view key : {jobs::kGroupStartedKey, jobs::kGroupExpiredKey, jobs::kGroupDeadlinesKey}) {
    if (verdict_in(request.object, key) == verdict_in(request.old_object, key)) continue;
    errors.push_back(forbidden(FieldPath("data").key(key),
                               "this says when the pods of a group may start, and only muster writes it, not user \"" +
                                   user + "\"; give your ConfigMap a name that does not end in " +
                                   std::string(jobs::kGroupConfigMapSuffix)));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "gang_config_maps",
    .matches = {{"", "configmaps"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::gang_config_maps
