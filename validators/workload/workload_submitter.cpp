// muster copies the name of a job's submitter to its Workload, where lists read it (api/meta/submitter.h). If another
// user could write it there, a Workload could be shown as another user's. Rejected, for example, on a Workload that
// user alice creates:
//
//   annotations: {muster.batch/submitter: bob}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/submitter.h"
#include "validators/validator.h"
#include "validators/workload/sent_by_muster.h"

namespace muster::validators::workload_submitter {
namespace {

// Where muster's name is known, no other admitter is one.
bool is_sent_by_muster_itself(const Review& review) {
  const std::string& own = review.settings.own_name;
  return own.empty() ? is_sent_by_muster(review) : review.request.user.username == own;
}

FieldErrors check(const Review& review) {
  const auto after = annotation(review.request.object, kSubmitterAnnotation);
  if (after == annotation(review.request.old_object, kSubmitterAnnotation) || is_sent_by_muster_itself(review))
    return {};
  return {forbidden(FieldPath("metadata.annotations").key(kSubmitterAnnotation),
                    "is written by muster alone, from the job that the Workload is made for")};
}

}  // namespace

extern const Validator rule = {
    .name = "workload_submitter",
    .matches = {{"kueue.x-k8s.io", "workloads"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::workload_submitter
