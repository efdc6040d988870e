// The labels and annotations of the pod templates are such. Rejected, for example:
//
//   podSets: [{name: main, template: {metadata: {labels: {"a b": c}}}}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_template_metadata {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& pod_set : jobs::pod_sets_of(review.request.object)) {
    const FieldPath path = FieldPath("spec.podSets").index(i++).child("template").child("metadata");
    const json& metadata = object_at(pod_set, {"template", "metadata"});
    append(errors, check_labels(path.child("labels"), object_at(metadata, {"labels"})));
    append(errors, check_annotations(path.child("annotations"), object_at(metadata, {"annotations"})));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_template_metadata",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_template_metadata
