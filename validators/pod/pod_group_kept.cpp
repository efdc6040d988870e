// A pod cannot leave its group, and a group that ends with one failed pod keeps this setting.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "jobs/pod/group_name.h"
#include "validators/validator.h"

namespace muster::validators::pod_group_kept {
namespace {

using nlohmann::json;

bool is_unretriable(const json& pod) {
  return annotation(pod, kRetriableInGroup) == "false";
}

FieldErrors check(const Review& review) {
  if (jobs::enabled_kind(review) != &jobs::plain_pod) return {};
  const json &before = review.request.old_object, &after = review.request.object;
  const auto old_name = jobs::pod_group_name_of(review.settings, before);
  const auto name = jobs::pod_group_name_of(review.settings, after);
  FieldErrors errors;
  if (old_name && (!name || name->name != old_name->name)) {
    errors.push_back(invalid(name ? name->field : FieldPath("metadata.labels").key(kPodGroupName),
                             name ? name->name : std::string_view(), "field is immutable"));
  }
  if (name && is_unretriable(before) && !is_unretriable(after)) {
    errors.push_back(forbidden(FieldPath("metadata.annotations").key(kRetriableInGroup),
                               "unretriable pod group can't be converted to retriable"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "pod_group_kept",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::pod_group_kept
