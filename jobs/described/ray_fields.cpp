#include "jobs/described/ray_fields.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster::jobs {
namespace {

std::string_view field_of(std::string_view resource) {
  if (resource == kRayJobs.resource) return "rayClusterSpec";
  return resource == kRayServices.resource ? "rayClusterConfig" : "";
}

}  // namespace

const nlohmann::json* ray_cluster_spec(std::string_view resource, const nlohmann::json& object) {
  const std::string_view field = field_of(resource);
  const nlohmann::json* spec = field.empty() ? find_path(object, {"spec"}) : find_path(object, {"spec", field});
  return spec != nullptr && spec->is_object() ? spec : nullptr;
}

FieldPath ray_cluster_path(std::string_view resource) {
  const std::string_view field = field_of(resource);
  return field.empty() ? FieldPath("spec") : FieldPath("spec").child(field);
}

}  // namespace muster::jobs
