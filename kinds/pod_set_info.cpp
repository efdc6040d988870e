#include "kinds/pod_set_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"

namespace muster {
namespace {

using nlohmann::json;

Outcome<> check_conflict(const Labels& one, const Labels& other, std::string_view what) {
  for (const auto& [key, value] : other) {
    const auto found = one.find(key);
    if (found == one.end() || found->second == value) continue;
    return fail("invalid admission check PodSetUpdate: conflict for " + std::string(what) +
                ": conflict for key=" + key + ", value1=" + found->second + ", value2=" + value);
  }
  return Done{};
}

template <class Item>
void add_missing(std::vector<Item>& list, const std::vector<Item>& more) {
  for (const Item& item : more) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }
}

// Writes into `parent` if a value changes.
void put_map_patch(json& parent, std::string_view key, const Labels& before, const Labels& after) {
  if (before == after) return;
  if (after.empty()) {
    parent[key] = nullptr;
    return;
  }
  json patch = json::object();
  for (const auto& [name, value] : before) {
    if (!after.contains(name)) patch[name] = nullptr;
  }
  for (const auto& [name, value] : after) {
    const auto found = before.find(name);
    if (found == before.end() || found->second != value) patch[name] = value;
  }
  parent[key] = std::move(patch);
}

json gates_json(const std::vector<std::string>& gates) {
  json list = json::array();
  for (const std::string& gate : gates) list.push_back({{"name", gate}});
  return list;
}

}  // namespace

PodSetInfo info_of_template(const json& pod_template) {
  PodSetInfo info{.name = "",
                  .labels = read_string_map(object_at(pod_template, {"metadata", "labels"})),
                  .annotations = read_string_map(object_at(pod_template, {"metadata", "annotations"})),
                  .node_selector = read_string_map(object_at(pod_template, {"spec", "nodeSelector"})),
                  .tolerations = read_tolerations(array_at(pod_template, {"spec", "tolerations"})),
                  .scheduling_gates = {}};
  for (const json& gate : array_at(pod_template, {"spec", "schedulingGates"})) {
    info.scheduling_gates.emplace_back(string_at(gate, {"name"}));
  }
  return info;
}

Outcome<> merge(PodSetInfo& info, const PodSetInfo& more) {
  if (auto fits = check_conflict(info.annotations, more.annotations, "annotations"); !fits) return fits;
  if (auto fits = check_conflict(info.labels, more.labels, "labels"); !fits) return fits;
  if (auto fits = check_conflict(info.node_selector, more.node_selector, "nodeSelector"); !fits) return fits;
  info.annotations.insert(more.annotations.begin(), more.annotations.end());
  info.labels.insert(more.labels.begin(), more.labels.end());
  info.node_selector.insert(more.node_selector.begin(), more.node_selector.end());
  add_missing(info.tolerations, more.tolerations);
  add_missing(info.scheduling_gates, more.scheduling_gates);
  return Done{};
}

json template_patch(const PodSetInfo& before, const PodSetInfo& after) {
  json patch;
  json metadata, spec;
  put_map_patch(metadata, "labels", before.labels, after.labels);
  put_map_patch(metadata, "annotations", before.annotations, after.annotations);
  put_map_patch(spec, "nodeSelector", before.node_selector, after.node_selector);
  if (before.tolerations != after.tolerations)
    spec["tolerations"] = after.tolerations.empty() ? json() : to_json(after.tolerations);
  if (before.scheduling_gates != after.scheduling_gates)
    spec["schedulingGates"] = after.scheduling_gates.empty() ? json() : gates_json(after.scheduling_gates);
  if (!metadata.is_null()) patch["metadata"] = std::move(metadata);
  if (!spec.is_null()) patch["spec"] = std::move(spec);
  return patch;
}

}  // namespace muster
