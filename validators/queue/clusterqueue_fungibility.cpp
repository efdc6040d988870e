// A preference among flavors needs a search through all of them. Rejected, for example:
//
//   flavorFungibility: {whenCanBorrow: MayStopSearch, preference: PreemptionOverBorrowing}
#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_fungibility {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& fungibility = object_at(review.request.object, {"spec", "flavorFungibility"});
  const json* preference = find_path(fungibility, {"preference"});
  if (preference == nullptr || !preference->is_string()) return {};
  if (string_at(fungibility, {"whenCanBorrow"}) == "TryNextFlavor" &&
      string_at(fungibility, {"whenCanPreempt"}) == "TryNextFlavor") {
    return {};
  }
  return {invalid("spec.flavorFungibility.preference", *preference,
                  "preference " + go_quote(preference->get_ref<const std::string&>()) +
                      " requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor")};
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_fungibility",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::clusterqueue_fungibility
