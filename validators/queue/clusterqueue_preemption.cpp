// A queue that borrows can preempt in other queues only if the queue can also reclaim. Rejected, for example:
//
//   preemption: {reclaimWithinCohort: Never, borrowWithinCohort: {policy: LowerPriority}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_text.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_preemption {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& preemption = object_at(review.request.object, {"spec", "preemption"});
  if (string_at(preemption, {"reclaimWithinCohort"}) != "Never") return {};
  const json& borrow = object_at(preemption, {"borrowWithinCohort"});
  if (borrow.empty() || string_at(borrow, {"policy"}) == "Never") return {};
  return {{"spec.preemption", FieldErrorType::kInvalid, jobs::print_preemption(preemption),
           "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"}};
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_preemption",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::clusterqueue_preemption
