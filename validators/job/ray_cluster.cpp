// A queued object of Ray: its head has containers, its worker groups are pod sets beside the head, and it creates its
// own cluster, which ends with it. Rejected, for example:
//
//   kind: RayJob
//   spec: {clusterSelector: {ray.io/cluster: mine}, rayClusterSpec: {...}}
//
// A RayJob with only a clusterSelector runs on an existing cluster, and muster ignores it.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/described/ray_fields.h"
#include "jobs/management.h"
#include "kinds/kind_description.h"
#include "validators/validator.h"

namespace muster::validators::ray_cluster {
namespace {

using nlohmann::json;

constexpr std::string_view kHeadGroup = "head";

FieldErrors check_groups(const json& cluster, const FieldPath& path) {
  FieldErrors errors;
  if (array_at(cluster, {"headGroupSpec", "template", "spec", "containers"}).empty())
    errors.push_back(required(path.child("headGroupSpec").child("template").child("spec").child("containers"),
                              "the head of a queued Ray cluster needs a container, whose requests are its quota"));
  const json& groups = array_at(cluster, {"workerGroupSpecs"});
  const FieldPath field = path.child("workerGroupSpecs");
  if (groups.size() + 1 > KindDescription::kMostPodSets) {
    errors.push_back(too_many(field, groups.size() + 1, KindDescription::kMostPodSets));
    return errors;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (string_at(groups[i], {"groupName"}) == kHeadGroup)
      errors.push_back(forbidden(field.index(i).child("groupName"), "\"head\" is reserved for the head group"));
  }
  return errors;
}

FieldErrors check_job(const json& object, bool has_cluster) {
  FieldErrors errors;
  const json& selector = object_at(object, {"spec", "clusterSelector"});
  if (!selector.empty() && has_cluster)
    errors.push_back(
        invalid("spec.clusterSelector", selector, "a kueue managed job should not use an existing cluster"));
  if (selector.empty() && !has_cluster)
    errors.push_back(required("spec.rayClusterSpec",
                              "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector"));
  if (!bool_at(object, {"spec", "shutdownAfterJobFinishes"}))
    errors.push_back(invalid("spec.shutdownAfterJobFinishes", false,
                             "a kueue managed job should delete the cluster after finishing"));
  return errors;
}

FieldErrors check(const Review& review) {
  if (!jobs::is_queued_here(review)) return {};
  const std::string& resource = review.request.resource;
  const json* cluster = jobs::ray_cluster_spec(resource, review.request.object);
  FieldErrors errors;
  if (resource == jobs::kRayJobs.resource) errors = check_job(review.request.object, cluster != nullptr);
  if (cluster != nullptr) append(errors, check_groups(*cluster, jobs::ray_cluster_path(resource)));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "ray_cluster",
    .matches = {jobs::kRayJobs, jobs::kRayClusters, jobs::kRayServices},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::ray_cluster
