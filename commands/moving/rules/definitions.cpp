#include "commands/moving/rules/definitions.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "manifests/names.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// Adds the fields of `own` that `live` does not have, below properties, items and additionalProperties; the
// paths are added to `added`.
void merge(json& live, const json& own, const std::string& path, std::vector<std::string>& added) {
  // An object that keeps unknown fields needs no additional fields.
  if (bool_at(live, {"x-kubernetes-preserve-unknown-fields"}) && !live.contains("properties")) return;
  const json& wanted = object_at(own, {"properties"});
  for (auto it = wanted.begin(); it != wanted.end(); ++it) {
    const std::string below = path.empty() ? it.key() : path + "." + it.key();
    if (!live.is_object() || live.contains("additionalProperties")) return;
    json& properties = live["properties"];
    if (!properties.is_object()) properties = json::object();
    if (!properties.contains(it.key())) {
      properties[it.key()] = it.value();
      added.push_back(below);
    } else {
      merge(properties[it.key()], it.value(), below, added);
    }
  }
  for (const char* part : {"items", "additionalProperties"}) {
    if (object_at(live, {part}).empty() || object_at(own, {part}).empty()) continue;
    merge(live[part], own[part], path + "[]", added);
  }
}

const json* version_of(const json& definition, std::string_view name) {
  for (const json& version : array_at(definition, {"spec", "versions"})) {
    if (string_at(version, {"name"}) == name) return &version;
  }
  return nullptr;
}

json with_fields(const json& live, const json& own, std::vector<std::string>& added) {
  json merged = live;
  if (array_at(merged, {"spec", "versions"}).empty()) return merged;
  for (json& version : merged["spec"]["versions"]) {
    const std::string name(string_at(version, {"name"}));
    const json* wanted = version_of(own, name);
    if (wanted == nullptr || object_at(version, {"schema", "openAPIV3Schema"}).empty()) continue;
    std::vector<std::string> paths;
    merge(version["schema"]["openAPIV3Schema"], object_at(*wanted, {"schema", "openAPIV3Schema"}), "", paths);
    for (const std::string& path : paths) added.push_back(name + ": " + path);
  }
  return merged;
}

}  // namespace

std::vector<std::string> missing_fields(const json& live, const json& own) {
  std::vector<std::string> added;
  (void)with_fields(live, own, added);
  return added;
}

json merged_definition(const json& live, const json& own) {
  std::vector<std::string> added;
  json merged = with_fields(live, own, added);
  merged["metadata"]["labels"][std::string(manifests::kAppNameLabel)] = manifests::kAppName;
  return merged;
}

std::string storage_version(const json& definition) {
  for (const json& version : array_at(definition, {"spec", "versions"})) {
    if (bool_at(version, {"storage"})) return std::string(string_at(version, {"name"}));
  }
  return "";
}

json versions_storing(const json& definition, const std::string& version) {
  json versions = array_at(definition, {"spec", "versions"});
  for (json& each : versions) each["storage"] = string_at(each, {"name"}) == version;
  return versions;
}

}  // namespace muster::commands
