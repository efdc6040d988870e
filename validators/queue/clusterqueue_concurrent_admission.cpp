// The policy for concurrent admission cannot change after the creation. (muster refuses new policies:
// clusterqueue_unsupported.) Rejected, for example:
//   concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}} -> none
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_text.h"
#include "jobs/typed_text.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_concurrent_admission {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json* policy = find_path(review.request.object, {"spec", "concurrentAdmissionPolicy"});
  const json* old_policy = find_path(review.request.old_object, {"spec", "concurrentAdmissionPolicy"});
  const json now = policy ? *policy : json();
  if (jobs::same_in_typed_api(now, old_policy ? *old_policy : json())) return {};
  return {{"spec.concurrentAdmissionPolicy", FieldErrorType::kInvalid, jobs::print_concurrent_admission(now),
           "field is immutable"}};
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_concurrent_admission",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::clusterqueue_concurrent_admission
