#include "api/pod_set.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {
namespace {

using nlohmann::json;

std::string text_of_object(const json& object) {
  return object.empty() ? std::string() : to_text(object);
}

}  // namespace

bool asks_for_topology(const json& topology_request) {
  // unconstrained: false and an empty level are requests too, which no flavor can fulfil.
  for (const char* key : {"required", "preferred", "unconstrained", "podSetGroupName", "podSetSliceRequiredTopology",
                          "podSetSliceSize"}) {
    const json* value = find_path(topology_request, {key});
    if (value != nullptr && !value->is_null()) return true;
  }
  return !array_at(topology_request, {"podsetSliceRequiredTopologyConstraints"}).empty();
}

PodSet read_pod_set(const json& object) {
  return {.name = std::string(string_at(object, {"name"})),
          .count = int32_at(object, {"count"}, 1),
          .min_count = optional_int32_at(object, {"minCount"}),
          .pod_template = read_pod_template(object_at(object, {"template"})),
          .topology_request_text = text_of_object(object_at(object, {"topologyRequest"})),
          .asks_for_topology = asks_for_topology(object_at(object, {"topologyRequest"}))};
}

json to_json(const std::vector<PodSet>& pod_sets) {
  json list = json::array();
  for (const PodSet& pod_set : pod_sets) {
    json item = {{"name", pod_set.name}, {"count", pod_set.count}, {"template", pod_set.pod_template.to_json()}};
    if (pod_set.min_count) item["minCount"] = *pod_set.min_count;
    if (!pod_set.topology_request_text.empty()) item["topologyRequest"] = json::parse(pod_set.topology_request_text);
    list.push_back(std::move(item));
  }
  return list;
}

json to_json(const ReclaimablePod& pod) {
  return {{"name", pod.name}, {"count", pod.count}};
}

}  // namespace muster
