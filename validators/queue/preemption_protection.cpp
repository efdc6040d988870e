// Only an administrator can set protection from early preemption, on a ClusterQueue or a WorkloadPriorityClass.
// The value is a duration; its limit is on the preemptor's ClusterQueue. On any other object it would have no
// effect. Rejected, for example, on a ClusterQueue:
//
//   muster.batch/preemption-protection: "10"
//
// and on a Job, with any value.
#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/time.h"
#include "api/preemption_protection.h"
#include "validators/validator.h"

namespace muster::validators::preemption_protection {
namespace {

using nlohmann::json;

constexpr std::array kAnnotations = {kPreemptionProtectionAnnotation, kReclaimProtectionAnnotation,
                                     kPreemptionProtectionLimitAnnotation};

FieldErrors check_length(const std::string& field, const json& value) {
  const auto length = parse_duration_json(value);
  if (!length || *length < Duration::zero())
    return {invalid(field, value, "must be a duration such as 90s or 10m; 0s is no protection")};
  if (*length > kLongestProtection) return {invalid(field, value, "must be at most a week: 168h")};
  return {};
}

FieldErrors errors_in(const json& object) {
  const std::string_view kind = string_at(object, {"kind"});
  const bool is_queue = kind == "ClusterQueue", is_class = kind == "WorkloadPriorityClass";
  FieldErrors errors;
  for (const std::string_view annotation : kAnnotations) {
    const json* value = find_path(object, {"metadata", "annotations", annotation});
    if (value == nullptr) continue;
    const std::string field = FieldPath("metadata.annotations").key(annotation);
    if (is_class && annotation == kPreemptionProtectionLimitAnnotation) {
      errors.push_back(forbidden(field, "acts only on the ClusterQueue of the preemptor; remove it"));
    } else if (is_queue || is_class) {
      append(errors, check_length(field, *value));
    } else {
      errors.push_back(forbidden(field,
                                 "acts only on a ClusterQueue or a WorkloadPriorityClass, where an administrator sets "
                                 "it; remove it"));
    }
  }
  return errors;
}

FieldErrors check(const Review& review) {
  return new_errors(review, errors_in);
}

}  // namespace

extern const Validator rule = {
    .name = "preemption_protection",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"},
                {"kueue.x-k8s.io", "workloadpriorityclasses"},
                {"kueue.x-k8s.io", "cohorts"},
                {"kueue.x-k8s.io", "localqueues"},
                {"kueue.x-k8s.io", "workloads"},
                {"batch", "jobs"},
                {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::preemption_protection
