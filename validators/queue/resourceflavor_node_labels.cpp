// The labels of a flavor are labels that a node can have. Rejected, for example:
//
//   nodeLabels: {"pool name": spot}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_node_labels {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  return check_labels("spec.nodeLabels", object_at(review.request.object, {"spec", "nodeLabels"}));
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_node_labels",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::resourceflavor_node_labels
