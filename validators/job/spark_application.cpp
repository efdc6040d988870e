// A queued SparkApplication runs in pods of the cluster, with a fixed number of pods. Rejected, for example:
//
//   kind: SparkApplication
//   spec: {mode: client}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::spark_application {
namespace {

FieldErrors check(const Review& review) {
  if (!jobs::is_queued_here(review)) return {};
  const nlohmann::json& object = review.request.object;
  FieldErrors errors;
  if (string_at(object, {"spec", "mode"}) != "cluster")
    errors.push_back(invalid("spec.mode", string_at(object, {"spec", "mode"}),
                             "only Cluster mode is supported for a kueue managed job"));
  // Another rule refuses elastic applications.
  if (bool_at(object, {"spec", "dynamicAllocation", "enabled"}) && !jobs::is_elastic(review.settings, object))
    errors.push_back(invalid("spec.dynamicAllocation.enabled", true,
                             "executors that Spark adds by itself would run beyond the quota; set "
                             "spec.executor.instances to what the job needs"));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "spark_application",
    .matches = {{"sparkoperator.k8s.io", "sparkapplications"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::spark_application
