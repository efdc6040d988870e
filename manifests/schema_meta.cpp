#include "manifests/schema_meta.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "api/meta/names.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

// What strict decoding knows of metadata. Values that only the API server sets have no type here.
constexpr const char* kMetadata = R"({
  "type": "object",
  "properties": {
    "name": {"type": "string"},
    "generateName": {"type": "string"},
    "namespace": {"type": "string"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    "finalizers": {"type": "array", "items": {"type": "string"}},
    "ownerReferences": {"type": "array", "items": {
      "type": "object",
      "required": ["apiVersion", "kind", "name", "uid"],
      "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"},
        "uid": {"type": "string"}, "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"}
      }
    }},
    "uid": {}, "resourceVersion": {}, "generation": {}, "selfLink": {}, "creationTimestamp": {},
    "deletionTimestamp": {}, "deletionGracePeriodSeconds": {}, "managedFields": {}
  }
})";

const json& metadata_schema() {
  static const json schema = json::parse(kMetadata);
  return schema;
}

}  // namespace

const json* property_schema(const json& schema, const std::string& name, bool root) {
  if (root && name == "metadata") return &metadata_schema();
  if (const json* named = find_path(schema, {"properties", name})) return named;
  return find_path(schema, {"additionalProperties"});
}

FieldErrors check_metadata(const json& object, const json& old) {
  FieldErrors errors;
  const std::string_view name = string_at(object, {"metadata", "name"});
  const std::string_view generated = string_at(object, {"metadata", "generateName"});
  if (name.empty() && generated.empty()) {
    errors.push_back(required("metadata.name", "name or generateName is required"));
  } else if (old.is_object()) {
    if (name != string_at(old, {"metadata", "name"}))
      errors.push_back(invalid("metadata.name", name, "field is immutable"));
  } else if (!name.empty()) {
    for (const std::string& complaint : is_dns1123_subdomain(name))
      errors.push_back(invalid("metadata.name", name, complaint));
  } else {
    // The API server adds a letter or a digit, so the prefix can end with a dash.
    for (const std::string& complaint : is_dns1123_subdomain(std::string(generated) + "a"))
      errors.push_back(invalid("metadata.generateName", generated, complaint));
  }
  for (const char* key : {"labels", "annotations"}) {
    const json &map = object_at(object, {"metadata", key}), &before = object_at(old, {"metadata", key});
    if (map == before) continue;
    const std::string field = std::string("metadata.") + key;
    append(errors, key == std::string_view("labels") ? check_labels(field, map) : check_annotations(field, map));
  }
  return errors;
}

}  // namespace muster::manifests
