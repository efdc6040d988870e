// The selector of namespaces must be valid. Rejected, for example:
//
//   namespaceSelector: {matchExpressions: [{key: team, operator: Exists, values: [a]}]}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_namespace_selector {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  return check_label_selector(FieldPath("spec.namespaceSelector"),
                              object_at(review.request.object, {"spec", "namespaceSelector"}));
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_namespace_selector",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::clusterqueue_namespace_selector
