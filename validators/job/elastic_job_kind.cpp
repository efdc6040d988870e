// Only some kinds can grow and shrink while they run. On an update the rule that the annotation is immutable
// (elastic_job_immutable) is enough; Kueue's webhooks of MPIJobs and SparkApplications report both. Rejected,
// for example:
//
//   kind: PyTorchJob
//   metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::elastic_job_kind {
namespace {

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::kind_of_checked_forms(review);
  if (kind == nullptr || kind->takes_elastic_jobs()) return {};
  if (!jobs::is_elastic(review.settings, review.request.object)) return {};
  return {forbidden(FieldPath("metadata.annotations").key(kElasticJobAnnotation),
                    "elastic job is not supported for \"" + std::string(kind->type.api_version) +
                        ", Kind=" + std::string(kind->type.kind) + "\"")};
}

}  // namespace

extern const Validator rule = {
    .name = "elastic_job_kind",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::elastic_job_kind
