// The topology of a flavor, and the labels and tolerations that choose its nodes, cannot change: Workloads were placed
// by them. (Kueue has these rules in its CRD.) Rejected, for example:
//
//   topologyName: a -> topologyName: b
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_topology_immutable {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json* before = find_path(review.request.old_object, {"spec"});
  // Kueue's rules belong to the spec, and do not run if the spec is removed.
  const json* after = find_path(review.request.object, {"spec"});
  if (after == nullptr || before == nullptr || string_at(*before, {"topologyName"}).empty()) return {};
  const auto is_changed = [&](const char* field) {
    const json *old_value = find_path(*before, {field}), *value = find_path(*after, {field});
    return (old_value == nullptr) != (value == nullptr) || (value != nullptr && *value != *old_value);
  };
  FieldErrors errors;
  const auto add = [&](const char* text) { errors.push_back({"spec", FieldErrorType::kInvalid, "", text}); };
  if (is_changed("nodeLabels")) add("nodeLabels are immutable when topologyName is set");
  if (is_changed("tolerations")) add("tolerations are immutable when topologyName is set");
  if (is_changed("topologyName")) add("topologyName is immutable when topologyName is set");
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_topology_immutable",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::resourceflavor_topology_immutable
