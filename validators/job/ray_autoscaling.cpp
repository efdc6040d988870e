// Ray's autoscaler creates pods while a job runs, without a request to the queue. Rejected, for example:
//
//   kind: RayCluster
//   spec: {enableInTreeAutoscaling: true}
//
// Kueue lets elastic jobs scale, since it counts their new pods in slices and makes them wait until then;
// muster has no slices, and does not name the gate and the annotation that Kueue asks for.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/described/ray_fields.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::ray_autoscaling {
namespace {

constexpr const char* kWhy =
    "muster does not queue Ray clusters that scale themselves: pods would run beyond their quota; set "
    "enableInTreeAutoscaling to false, and the replicas of the worker groups to what the job needs";

FieldErrors check(const Review& review) {
  if (!jobs::is_queued_here(review)) return {};
  const std::string& resource = review.request.resource;
  const nlohmann::json* cluster = jobs::ray_cluster_spec(resource, review.request.object);
  if (cluster == nullptr || !bool_at(*cluster, {"enableInTreeAutoscaling"})) return {};
  return {invalid(jobs::ray_cluster_path(resource).child("enableInTreeAutoscaling"), true, kWhy)};
}

}  // namespace

extern const Validator rule = {
    .name = "ray_autoscaling",
    .matches = {jobs::kRayJobs, jobs::kRayClusters, jobs::kRayServices},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::ray_autoscaling
