// A queued Job that chooses its pods by its own selector: muster finds the pods by it when the Job is gone, and
// releases their quota when there are none. Rejected, for example, is a queued Job with
//
//   manualSelector: true
//   selector: {}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/selectors.h"
#include "jobs/management.h"
#include "jobs/pod_selector.h"
#include "validators/validator.h"

namespace muster::validators::manual_selector {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& spec = object_at(review.request.object, {"spec"});
  if (!bool_at(spec, {"manualSelector"}) || !jobs::is_queued_here(review)) return {};
  const auto selector = LabelSelector::parse(object_at(spec, {"selector"}));
  const std::string text = selector ? selector->text() : "";
  if (!text.empty() && text.size() <= jobs::kLongestPodSelector) return {};
  return {invalid("spec.selector", text.substr(0, 100),
                  text.empty() ? "a queued Job with manualSelector needs labels by which its pods are found"
                               : "a queued Job's selector has at most " + std::to_string(jobs::kLongestPodSelector) +
                                     " characters")};
}

}  // namespace

extern const Validator rule = {
    .name = "manual_selector",
    .matches = {{"batch", "jobs"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::manual_selector
