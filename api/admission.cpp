#include "api/admission.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"

namespace muster {

using nlohmann::json;

const PodSetAssignment* Admission::find(std::string_view pod_set) const {
  const auto found = std::find_if(pod_sets.begin(), pod_sets.end(),
                                  [&](const PodSetAssignment& assignment) { return assignment.name == pod_set; });
  return found == pod_sets.end() ? nullptr : &*found;
}

std::vector<std::string> assigned_flavors(const Admission& admission) {
  std::vector<std::string> flavors;
  for (const PodSetAssignment& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      if (std::find(flavors.begin(), flavors.end(), flavor) == flavors.end()) flavors.push_back(flavor);
    }
  }
  return flavors;
}

std::optional<Admission> read_admission(const json* object) {
  if (object == nullptr || !object->is_object()) return std::nullopt;
  Admission admission{.cluster_queue = std::string(string_at(*object, {"clusterQueue"})), .pod_sets = {}};
  for (const json& item : array_at(*object, {"podSetAssignments"})) {
    admission.pod_sets.push_back({.name = std::string(string_at(item, {"name"})),
                                  .flavors = read_string_map(object_at(item, {"flavors"})),
                                  .resource_usage = read_resource_list(object_at(item, {"resourceUsage"})),
                                  .count = optional_int32_at(item, {"count"})});
  }
  return admission;
}

json to_json(const Admission& admission) {
  json assignments = json::array();
  for (const PodSetAssignment& pod_set : admission.pod_sets) {
    json item = {{"name", pod_set.name}};
    put_map(item, "flavors", pod_set.flavors);
    if (!pod_set.resource_usage.empty()) item["resourceUsage"] = to_json(pod_set.resource_usage);
    if (pod_set.count) item["count"] = *pod_set.count;
    assignments.push_back(std::move(item));
  }
  return {{"clusterQueue", admission.cluster_queue}, {"podSetAssignments", std::move(assignments)}};
}

}  // namespace muster
