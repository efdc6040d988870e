// The pod updates of an admission check name an existing pod set, and can be written into a pod template.
// Rejected, for example:
//
//   podSetUpdates: [{name: workesr, labels: {"a b": c}}]
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "jobs/queue_fields.h"
#include "validators/enough_errors.h"
#include "validators/validator.h"

namespace muster::validators::workload_check_updates {
namespace {

using nlohmann::json;

FieldErrors check_update(const FieldPath& path, const json& update, const std::vector<std::string>& known) {
  FieldErrors errors;
  const std::string_view name = string_at(update, {"name"});
  if (!std::binary_search(known.begin(), known.end(), name)) {
    FieldError error = not_supported(path.child("name"), name, known);
    if (known.empty()) error.detail.clear();
    errors.push_back(std::move(error));
  }
  append(errors, jobs::check_toleration_keys(path.child("tolerations"), array_at(update, {"tolerations"})));
  append(errors, check_annotations(path.child("annotations"), object_at(update, {"annotations"})));
  append(errors, check_labels(path.child("nodeSelector"), object_at(update, {"nodeSelector"})));
  append(errors, check_labels(path.child("labels"), object_at(update, {"labels"})));
  return errors;
}

FieldErrors check(const Review& review) {
  const json& checks = array_at(review.request.object, {"status", "admissionChecks"});
  if (checks.empty()) return {};
  std::set<std::string> names;
  for (const json& pod_set : jobs::pod_sets_of(review.request.object)) names.emplace(string_at(pod_set, {"name"}));
  const std::vector<std::string> known(names.begin(), names.end());
  FieldErrors errors;
  size_t i = 0;
  for (const json& one : checks) {
    const FieldPath path = FieldPath("status.admissionChecks").index(i++).child("podSetUpdates");
    size_t j = 0;
    for (const json& update : array_at(one, {"podSetUpdates"})) {
      if (errors.size() >= kEnoughErrors) return errors;
      append(errors, check_update(path.index(j++), update, known));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_check_updates",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_check_updates
