#include "api/pod_spec.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {
namespace {

using nlohmann::json;

ResourceRequirements read_requirements(const json& object) {
  const json& resources = object_at(object, {"resources"});
  return {.requests = read_resource_list(object_at(resources, {"requests"})),
          .limits = read_resource_list(object_at(resources, {"limits"}))};
}

std::vector<ContainerSpec> read_containers(const json& list) {
  std::vector<ContainerSpec> containers;
  for (const json& container : list) {
    containers.push_back({.name = std::string(string_at(container, {"name"})),
                          .resources = read_requirements(container),
                          .sidecar = string_at(container, {"restartPolicy"}) == "Always"});
  }
  return containers;
}

std::optional<ResourceRequirements> pod_requirements(const json& pod_spec) {
  const json* resources = find_path(pod_spec, {"resources"});
  if (resources == nullptr || !resources->is_object()) return std::nullopt;
  return read_requirements(pod_spec);
}

}  // namespace

ResourceList read_resource_list(const json& object) {
  ResourceList list;
  if (!object.is_object()) return list;
  for (const auto& [name, value] : object.items()) {
    if (auto quantity = Quantity::from_json(value)) list.emplace(name, std::move(*quantity));
  }
  return list;
}

json to_json(const ResourceList& list) {
  json object = json::object();
  for (const auto& [name, quantity] : list) object[name] = quantity.to_json();
  return object;
}

PodSpec::PodSpec(const json& pod_spec)
    : text(to_text(pod_spec)),
      init_containers(read_containers(array_at(pod_spec, {"initContainers"}))),
      containers(read_containers(array_at(pod_spec, {"containers"}))),
      resources(pod_requirements(pod_spec)),
      overhead(read_resource_list(object_at(pod_spec, {"overhead"}))),
      runtime_class(string_at(pod_spec, {"runtimeClassName"})),
      priority_class(string_at(pod_spec, {"priorityClassName"})),
      tolerations(read_tolerations(array_at(pod_spec, {"tolerations"}))),
      node_affinity(pod_spec),
      resource_claims(!array_at(pod_spec, {"resourceClaims"}).empty()) {}

PodSpecPtr read_requests(const json& pod_spec) {
  json requests = json::object();
  const auto copy = [](const json& from, json& to, std::initializer_list<const char*> fields) {
    for (const char* field : fields) {
      if (const json* value = find_path(from, {field})) to[field] = *value;
    }
  };
  copy(pod_spec, requests, {"resources", "resourceClaims", "overhead", "runtimeClassName"});
  for (const char* list : {"initContainers", "containers"}) {
    for (const json& container : array_at(pod_spec, {list})) {
      json& kept = requests[list].emplace_back(json::object());
      copy(container, kept, {"resources", "restartPolicy"});
    }
  }
  return std::make_shared<const PodSpec>(requests);
}

json PodTemplate::to_json() const {
  return {{"metadata", json::parse(metadata_text)}, {"spec", json::parse(spec->text)}};
}

PodTemplate read_pod_template(const json& pod_template) {
  return {.metadata_text = to_text(object_at(pod_template, {"metadata"})),
          .spec = std::make_shared<const PodSpec>(object_at(pod_template, {"spec"}))};
}

}  // namespace muster
