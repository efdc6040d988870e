// muster records by which labels it finds the pods of a job that is gone (jobs/pod_selector.h). If a user could change
// that, quota would be released while the pods run, or never. Rejected, for example, is a change by a user to
//
//   annotations: {muster.batch/pod-selector: "a=b"}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/pod_selector.h"
#include "validators/validator.h"
#include "validators/workload/sent_by_muster.h"

namespace muster::validators::workload_pod_selector {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const auto of = [](const json& object) {
    return string_at(object, {"metadata", "annotations", jobs::kPodSelectorAnnotation});
  };
  if (of(review.request.object) == of(review.request.old_object) || is_sent_by_muster(review)) return {};
  return {forbidden(FieldPath("metadata.annotations").key(std::string(jobs::kPodSelectorAnnotation)),
                    "is written by muster alone")};
}

}  // namespace

extern const Validator rule = {
    .name = "workload_pod_selector",
    .matches = {{"kueue.x-k8s.io", "workloads"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::workload_pod_selector
