// The creation of a job decides whether and how it starts as a group: existing pods have a barrier or have
// none, and the deadline of a run can have begun. The spec field and the annotations cannot be added, removed
// or changed. Rejected, for example:
//
//   kubectl annotate job train muster.batch/group-scheduling-timeout-seconds=300
//
// A configuration that was never usable had no effect and can be removed.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_immutability {
namespace {

using nlohmann::json;

std::string remedy(const jobs::JobKind& kind) {
  return "starting as a group is settled when a " + std::string(kind.type.kind) +
         " is created; delete it and create it again with the new value";
}

FieldErrors compare_annotation(const jobs::JobKind& kind, const json& old_object, const json& object,
                               std::string_view key) {
  const auto before = annotation(old_object, key);
  const auto after = annotation(object, key);
  if (before == after) return {};
  const char* what = !before ? "cannot be added: " : after ? "cannot be changed: " : "cannot be removed: ";
  return {
      invalid(FieldPath("metadata.annotations").key(key), after ? json(*after) : json(nullptr), what + remedy(kind))};
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr) return {};
  const json& old_object = review.request.old_object;
  const json& object = review.request.object;
  const jobs::GroupReading before = jobs::read_group_scheduling(*kind, old_object);
  const jobs::GroupReading after = jobs::read_group_scheduling(*kind, object);
  if (before.present() && !before.usable() && !after.present()) return {};

  FieldErrors errors;
  if (!(before.field == after.field)) {
    const json* value = find_path(object, {"spec", "groupSchedulingConfig"});
    const char* what = !before.field.present ? "cannot be added: "
                       : after.field.present ? "cannot be changed: "
                                             : "cannot be removed: ";
    errors.push_back(invalid("spec.groupSchedulingConfig", value ? *value : json(nullptr), what + remedy(*kind)));
  }
  if (before.annotations == after.annotations) return errors;
  append(errors, compare_annotation(*kind, old_object, object, kGroupTimeoutAnnotation));
  append(errors, compare_annotation(*kind, old_object, object, kGroupTargetsAnnotation));
  append(errors, compare_annotation(*kind, old_object, object, kGroupOnTimeoutAnnotation));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_immutability",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_immutability
