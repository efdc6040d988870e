#include "api/meta/object_meta.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/whole_number.h"

namespace muster {
namespace {

using nlohmann::json;

std::string_view find_value(const Labels& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string_view() : found->second;
}

}  // namespace

std::string path_of(std::string_view ns, std::string_view name) {
  std::string path;
  path.reserve(ns.size() + 1 + name.size());
  return path.append(ns).append("/").append(name);
}

std::string path_of(const ObjectMeta& meta) {
  return path_of(meta.ns, meta.name);
}

uint64_t read_version(std::string_view text) {
  return whole_number<uint64_t>(text).value_or(0);
}

Timestamp time_at(const json& object, std::initializer_list<std::string_view> path) {
  const json* value = find_path(object, path);
  if (value == nullptr) return {};
  auto time = parse_time(*value);
  return time ? *time : Timestamp{};
}

std::string_view ObjectMeta::label(std::string_view key) const {
  return find_value(labels, key);
}

std::string_view ObjectMeta::annotation(std::string_view key) const {
  return find_value(annotations, key);
}

Labels read_string_map(const json& map) {
  Labels read;
  for (const auto& [key, value] : map.items()) {
    if (const auto* text = value.get_ptr<const std::string*>()) read.emplace(key, *text);
  }
  return read;
}

void put_map(json& object, std::string_view key, const Labels& map) {
  if (!map.empty()) object[key] = map;
}

ObjectMeta read_meta(const json& object) {
  ObjectMeta meta;
  meta.ns = string_at(object, {"metadata", "namespace"});
  meta.name = string_at(object, {"metadata", "name"});
  meta.uid = string_at(object, {"metadata", "uid"});
  meta.resource_version = read_version(string_at(object, {"metadata", "resourceVersion"}));
  meta.generation = int_at(object, {"metadata", "generation"}).value_or(0);
  meta.labels = labels_of(object);
  meta.annotations = read_string_map(object_at(object, {"metadata", "annotations"}));
  meta.controller = controller_of(object);
  meta.created = time_at(object, {"metadata", "creationTimestamp"});
  const json* deletion = find_path(object, {"metadata", "deletionTimestamp"});
  meta.deleting = deletion != nullptr && !deletion->is_null();
  const std::vector<std::string> finalizers = strings_at(object, {"metadata", "finalizers"});
  meta.finalizers.assign(finalizers.begin(), finalizers.end());
  return meta;
}

Conditions read_conditions(const json& conditions) {
  Conditions read;
  read.reserve(conditions.size());
  for (const json& condition : conditions) {
    read.push_back({.type = string_at(condition, {"type"}),
                    .status = string_at(condition, {"status"}),
                    .reason = string_at(condition, {"reason"}),
                    .message = string_at(condition, {"message"}),
                    .last_transition = time_at(condition, {"lastTransitionTime"}),
                    .observed_generation = int_at(condition, {"observedGeneration"}).value_or(0)});
  }
  return read;
}

json to_json(const Conditions& conditions) {
  json list = json::array();
  for (const Condition& condition : conditions) {
    list.push_back({{"type", condition.type},
                    {"status", condition.status},
                    {"reason", condition.reason},
                    {"message", condition.message},
                    {"lastTransitionTime", time_to_json(condition.last_transition)}});
    if (condition.observed_generation != 0) list.back()["observedGeneration"] = condition.observed_generation;
  }
  return list;
}

const Condition* find_condition(const Conditions& conditions, std::string_view type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& condition) { return condition.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

bool condition_is_true(const Conditions& conditions, std::string_view type) {
  const Condition* condition = find_condition(conditions, type);
  return condition != nullptr && condition->is_true();
}

bool set_condition(Conditions& conditions, Condition condition) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& present) { return present.type == condition.type; });
  if (found == conditions.end()) {
    conditions.push_back(std::move(condition));
    return true;
  }
  if (found->status == condition.status) condition.last_transition = found->last_transition;
  if (*found == condition) return false;
  *found = std::move(condition);
  return true;
}

}  // namespace muster
