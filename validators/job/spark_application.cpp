// A queued SparkApplication runs in pods of the cluster, with a fixed number of pods that its fields describe.
// Rejected, for example:
//
//   kind: SparkApplication
//   spec: {mode: client}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::spark_application {
namespace {

using nlohmann::json;

// Properties by which Spark makes other pods than the fields of the application say.
void check_properties(const json& spec, bool elastic, FieldErrors& errors) {
  const json& properties = object_at(spec, {"sparkConf"});
  const FieldPath path = FieldPath("spec").child("sparkConf");
  for (const char* key : {"spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"}) {
    if (properties.contains(key))
      errors.push_back(forbidden(path.key(key),
                                 "the pods of this file would run beyond the quota; use the template of "
                                 "the driver or of the executor"));
  }
  constexpr const char* kDynamic = "spark.dynamicAllocation.enabled";
  if (!elastic && properties.contains(kDynamic) && properties[kDynamic] != "false")
    errors.push_back(invalid(path.key(kDynamic), properties[kDynamic],
                             "executors that Spark adds by itself would run beyond the quota; set "
                             "spec.executor.instances to what the job needs"));
}

FieldErrors check(const Review& review) {
  if (!jobs::is_queued_here(review)) return {};
  const json& object = review.request.object;
  FieldErrors errors;
  if (string_at(object, {"spec", "mode"}) != "cluster")
    errors.push_back(invalid("spec.mode", string_at(object, {"spec", "mode"}),
                             "only Cluster mode is supported for a kueue managed job"));
  // Another rule refuses elastic applications.
  const bool elastic = jobs::is_elastic(review.settings, object);
  if (bool_at(object, {"spec", "dynamicAllocation", "enabled"}) && !elastic)
    errors.push_back(invalid("spec.dynamicAllocation.enabled", true,
                             "executors that Spark adds by itself would run beyond the quota; set "
                             "spec.executor.instances to what the job needs"));
  check_properties(object_at(object, {"spec"}), elastic, errors);
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
