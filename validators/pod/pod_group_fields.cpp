// A pod of a group has the name of its group and the number of its pods, both or neither. The group's name is
// the name of its Workload, so a Workload that another user has created must have this name too.
#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "jobs/management.h"
#include "jobs/pod/group_name.h"
#include "jobs/prebuilt_workload.h"
#include "validators/validator.h"

namespace muster::validators::pod_group_fields {
namespace {

using nlohmann::json;

FieldPath count_field() {
  return FieldPath("metadata.annotations").key(kPodGroupTotalCount);
}

FieldError incomplete(const FieldPath& field, std::string_view where) {
  return required(field, "both the '" + std::string(kPodGroupTotalCount) + "' annotation and the '" +
                             std::string(kPodGroupName) + "' " + std::string(where) + " should be set");
}

FieldErrors check_count(std::string_view text) {
  const auto count = go_atoi(text);
  if (!count) return {invalid(count_field(), text, count.error().message)};
  if (*count >= 1) return {};
  return {invalid(count_field(), text,
                  "incorrect annotation value '" + std::string(kPodGroupTotalCount) + "=" + std::string(text) +
                      "': group total count should be greater than zero")};
}

FieldErrors check_name(const jobs::PodGroupNameRef& name) {
  FieldErrors errors;
  for (std::string& complaint : is_dns1123_subdomain(name.name))
    errors.push_back(invalid(name.field, name.name, std::move(complaint)));
  return errors;
}

FieldErrors check(const Review& review) {
  if (jobs::enabled_kind(review) != &jobs::plain_pod) return {};
  const json& pod = review.request.object;
  const auto name = jobs::pod_group_name_of(review.settings, pod);
  const auto count = annotation(pod, kPodGroupTotalCount);
  FieldErrors errors;
  if (!name && count) errors.push_back(incomplete(FieldPath("metadata.labels").key(kPodGroupName), "label"));
  if (name && !count) errors.push_back(incomplete(count_field(), name->annotated ? "annotation" : "label"));
  if (!name) return errors;
  append(errors, check_name(*name));
  if (count) append(errors, check_count(*count));
  const auto prebuilt = jobs::prebuilt_workload_name_of(review.settings, pod);
  if (prebuilt && prebuilt->name != name->name)
    errors.push_back(invalid(prebuilt->field, prebuilt->name, "prebuilt workload and pod group should be equal"));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "pod_group_fields",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::pod_group_fields
