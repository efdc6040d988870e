// A LocalQueue has a weight among the LocalQueues of its ClusterQueue where admission follows past usage,
// which muster does not do. Rejected, for example:
//
//   fairSharing: {weight: "2"}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::localqueue_unsupported {
namespace {

FieldErrors unsupported_in(const nlohmann::json& queue) {
  const nlohmann::json* sharing = find_path(queue, {"spec", "fairSharing"});
  if (sharing == nullptr || sharing->is_null()) return {};
  return {forbidden("spec.fairSharing",
                    "muster gives the LocalQueues of a ClusterQueue no shares; leave it out, Workloads then queue by "
                    "priority and age")};
}

FieldErrors check(const Review& review) {
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator rule = {
    .name = "localqueue_unsupported",
    .matches = {{"kueue.x-k8s.io", "localqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::localqueue_unsupported
