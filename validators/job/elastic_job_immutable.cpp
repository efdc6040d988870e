#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::elastic_job_immutable {
namespace {

// As in Kueue, which gates the pods of elastic jobs when they are created: manifests and tools rely on it. Serving
// kinds cannot be elastic (elastic_job_kind).
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::checked_kind(review);
  if (!kind || kind->is_serving()) return {};
  const bool elastic = jobs::is_elastic(review.settings, review.request.object);
  if (elastic == jobs::is_elastic(review.settings, review.request.old_object)) return {};
  return {invalid(FieldPath("metadata.annotations").key(kElasticJobAnnotation), elastic, "field is immutable")};
}

}  // namespace

extern const Validator rule = {
    .name = "elastic_job_immutable",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::elastic_job_immutable
