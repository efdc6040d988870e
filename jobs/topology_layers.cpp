#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "jobs/topology.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

constexpr size_t kMaxLayers = 3;

FieldErrors check_each(const FieldPath& field, const std::vector<SliceLayer>& layers) {
  FieldErrors errors;
  for (size_t i = 0; i < layers.size(); ++i) {
    const FieldPath entry = field.index(i);
    for (std::string& complaint : is_qualified_name(layers[i].topology)) {
      errors.push_back(invalid(entry.child("topology"), layers[i].topology, std::move(complaint)));
    }
    if (layers[i].size < 1) {
      errors.push_back(invalid(entry.child("size"), layers[i].size, "must be greater than or equal to 1"));
    }
  }
  return errors;
}

FieldErrors check_together(const FieldPath& field, const std::vector<SliceLayer>& layers) {
  FieldErrors errors;
  std::map<std::string_view, size_t> seen;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto [first, is_new] = seen.emplace(layers[i].topology, i);
    if (is_new) continue;
    errors.push_back(duplicate(field.index(i).child("topology"),
                               layers[i].topology + " (also at index " + std::to_string(first->second) + ")"));
  }
  for (size_t i = 1; i < layers.size(); ++i) {
    if (layers[i].size <= 0 || layers[i - 1].size % layers[i].size == 0) continue;
    errors.push_back(invalid(field.index(i).child("size"), layers[i].size,
                             "must evenly divide the parent layer size " + std::to_string(layers[i - 1].size)));
  }
  return errors;
}

}  // namespace

Result<std::vector<SliceLayer>> parse_slice_layers(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed.ok()) return fail(parsed.error().message);
  if (!parsed->is_array()) return fail("not an array of {\"topology\": label, \"size\": pods}");
  std::vector<SliceLayer> layers;
  for (const json& entry : *parsed) {
    const auto size = int_at(entry, {"size"});
    if (!entry.is_object() || (entry.contains("size") && !size)) {
      return fail("not an array of {\"topology\": label, \"size\": pods}");
    }
    layers.push_back({std::string(string_at(entry, {"topology"})), size.value_or(0)});
  }
  return layers;
}

FieldErrors check_slice_layers(const FieldPath& field, std::string_view text) {
  const auto layers = parse_slice_layers(text);
  if (!layers.ok()) return {invalid(field, text, "must be a valid JSON array: " + layers.error().message)};
  if (layers->empty() || layers->size() > kMaxLayers) {
    return {invalid(field, text, "must have between 1 and " + std::to_string(kMaxLayers) + " layers")};
  }
  FieldErrors errors = check_each(field, *layers);
  append(errors, check_together(field, *layers));
  return errors;
}

}  // namespace muster::jobs
