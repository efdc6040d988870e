#include "manifests/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "base/did_you_mean.h"
#include "manifests/catalog.h"
#include "manifests/schema_meta.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

std::vector<DefinedKind> read_definitions() {
  // With the old version, which manifests can still be written in.
  static const std::vector<json> documents = manifests(ManifestSet::kCrds, {.serves_v1beta1 = true});
  std::vector<DefinedKind> kinds;
  for (const json& document : documents) {
    DefinedKind kind;
    kind.plural = string_at(document, {"spec", "names", "plural"});
    kind.namespaced = string_at(document, {"spec", "scope"}) == "Namespaced";
    for (const json& version : array_at(document, {"spec", "versions"})) {
      if (bool_at(version, {"served"})) kind.served.emplace_back(string_at(version, {"name"}));
    }
    kind.definition = &document;
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

bool preserves(const json& schema) {
  return bool_at(schema, {"x-kubernetes-preserve-unknown-fields"});
}

std::vector<std::string> property_names(const json& schema) {
  std::vector<std::string> names;
  for (const auto& [name, child] : object_at(schema, {"properties"}).items()) names.push_back(name);
  return names;
}

void find_unknown(const json& schema, const json& value, const FieldPath& path, bool root, FieldErrors& errors) {
  if (value.is_array()) {
    const json* items = find_path(schema, {"items"});
    for (size_t i = 0; items && i < value.size(); ++i) find_unknown(*items, value[i], path.index(i), false, errors);
    return;
  }
  if (!value.is_object()) return;
  for (const auto& [name, child] : value.items()) {
    if (const json* below = property_schema(schema, name, root)) {
      find_unknown(*below, child, path.child(name), false, errors);
    } else if (!preserves(schema) && string_at(schema, {"type"}) == "object") {
      errors.push_back(forbidden(path.child(name), "unknown field" + did_you_mean(name, property_names(schema))));
    }
  }
}

// null stands for the default, or for nothing.
bool is_stray_null(const json& schema, const json& value) {
  return value.is_null() && !bool_at(schema, {"nullable"});
}

void prepare(const json& schema, json& value, bool root) {
  if (value.is_array()) {
    if (const json* items = find_path(schema, {"items"})) {
      for (json& item : value) prepare(*items, item, false);
    }
    return;
  }
  if (!value.is_object()) return;
  for (auto field = value.begin(); field != value.end();) {
    const json* known = property_schema(schema, field.key(), root);
    const bool stray = known ? is_stray_null(*known, field.value()) : !preserves(schema);
    field = stray ? value.erase(field) : std::next(field);
  }
  for (const auto& [name, property] : object_at(schema, {"properties"}).items()) {
    if (const json* preset = find_path(property, {"default"}); preset && !value.contains(name)) value[name] = *preset;
  }
  for (auto& [name, child] : value.items()) {
    if (const json* below = property_schema(schema, name, root)) prepare(*below, child, false);
  }
}

}  // namespace

DefinedKind::Version DefinedKind::version(std::string_view name) const {
  for (const json& version : array_at(*definition, {"spec", "versions"})) {
    if (string_at(version, {"name"}) != name) continue;
    return {find_path(version, {"schema", "openAPIV3Schema"}),
            find_path(version, {"subresources", "status"}) != nullptr};
  }
  return {};
}

const std::vector<DefinedKind>& defined_kinds() {
  static const std::vector<DefinedKind> kinds = read_definitions();
  return kinds;
}

const DefinedKind* find_defined_kind(std::string_view group, std::string_view kind) {
  for (const DefinedKind& defined : defined_kinds()) {
    if (string_at(*defined.definition, {"spec", "group"}) == group &&
        string_at(*defined.definition, {"spec", "names", "kind"}) == kind)
      return &defined;
  }
  return nullptr;
}

bool is_defined_group(std::string_view group) {
  const auto& kinds = defined_kinds();
  return std::any_of(kinds.begin(), kinds.end(), [&](const DefinedKind& kind) {
    return string_at(*kind.definition, {"spec", "group"}) == group;
  });
}

FieldErrors find_unknown_fields(const json& schema, const json& object) {
  FieldErrors errors;
  find_unknown(schema, object, FieldPath(""), true, errors);
  return errors;
}

void prune_and_default(const json& schema, json& object) {
  prepare(schema, object, true);
}

}  // namespace muster::manifests
