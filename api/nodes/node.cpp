#include "api/nodes/node.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"

namespace muster {

using nlohmann::json;

Node read_node(const json& object) {
  Node node{.name = std::string(string_at(object, {"metadata", "name"})),
            .labels = read_string_map(object_at(object, {"metadata", "labels"})),
            .taints = read_taints(array_at(object, {"spec", "taints"})),
            .allocatable = to_requests(read_resource_list(object_at(object, {"status", "allocatable"}))),
            .cordoned = bool_at(object, {"spec", "unschedulable"})};
  for (const json& condition : array_at(object, {"status", "conditions"}))
    node.ready =
        node.ready || (string_at(condition, {"type"}) == "Ready" && string_at(condition, {"status"}) == "True");
  return node;
}

}  // namespace muster
