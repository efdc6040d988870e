// Only some kinds can grow and shrink while they run. On an update the rule that the annotation is immutable
// (elastic_job_immutable) says enough; Kueue's webhook of MPIJobs says both. Rejected, for example:
//
//   kind: PyTorchJob
//   metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster {
namespace {

FieldErrors check(const Review& review) {
  const JobKind* kind = enabled_kind(review);
  if (kind == nullptr || kind == &batch_job || kind == &jobset) return {};
  if (!is_elastic(review.settings, review.request.object)) return {};
  const bool is_update = review.request.operation == Operation::kUpdate;
  if (is_update && (kind->framework != "kubeflow.org/mpijob" || is_elastic(review.settings, review.request.old_object)))
    return {};
  return {forbidden(FieldPath("metadata.annotations").key(kElasticJobAnnotation),
                    "elastic job is not supported for \"" + std::string(kind->type.api_version) +
                        ", Kind=" + std::string(kind->type.kind) + "\"")};
}

}  // namespace

extern const Validator elastic_job_kind;
const Validator elastic_job_kind = {
    .name = "elastic_job_kind",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster
