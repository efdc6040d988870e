#include "reconcilers/jobset/jobset_placement.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

json expression(std::string_view key, std::string_view op, const json& values) {
  json made = {{"key", key}, {"operator", op}};
  if (!values.empty()) made["values"] = values;
  return made;
}

void add_term(std::string_view kind, json term, json& pod_spec) {
  json* affinity = jobs::make_object(pod_spec, {"affinity", kind});
  if (affinity == nullptr) return;
  json& terms = (*affinity)["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!terms.is_array()) terms = json::array();
  terms.push_back(std::move(term));
}

// A label cannot begin with a minus sign.
std::string label_value(int32_t priority) {
  return priority < 0 ? "n" + std::to_string(-int64_t{priority}) : std::to_string(priority);
}

}  // namespace

void place_exclusively(int32_t priority, json& pod_template) {
  const auto topology = annotation(pod_template, kExclusiveTopologyAnnotation);
  if (!topology || annotation(pod_template, kNodeSelectorStrategyAnnotation)) return;
  json* labels = jobs::make_object(pod_template, {"metadata", "labels"});
  json* pod_spec = jobs::existing_object(pod_template, {"spec"});
  if (labels == nullptr || pod_spec == nullptr) return;
  const std::string priority_value = label_value(priority);
  (*labels)[std::string(kJobSetPriorityLabel)] = priority_value;

  // Pods of an earlier attempt that are still ending must not keep the new pods in their domain.
  json own = json::array();
  for (const std::string_view key : {kJobKeyKey, kRestartAttemptLabel, kJobRestartAttemptKey}) {
    const auto value = labels->find(std::string(key));
    if (value != labels->end()) own.push_back(expression(key, "In", json::array({*value})));
  }
  add_term("podAffinity", {{"topologyKey", *topology}, {"labelSelector", {{"matchExpressions", own}}}}, *pod_spec);
  const json others =
      json::array({expression(kJobKeyKey, "Exists", json::array()),
                   expression(kJobKeyKey, "NotIn", json::array({labels->value(std::string(kJobKeyKey), "")})),
                   expression(kJobSetPriorityLabel, "In", json::array({priority_value}))});
  add_term("podAntiAffinity",
           {{"topologyKey", *topology},
            {"labelSelector", {{"matchExpressions", others}}},
            {"namespaceSelector", json::object()}},
           *pod_spec);
}

}  // namespace muster::reconcilers
