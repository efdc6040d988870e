#include "api/pods/limit_range.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {

using nlohmann::json;

LimitRangePtr read_limit_range(const json& object) {
  auto limit_range = std::make_shared<LimitRange>();
  limit_range->meta = read_meta(object);
  for (const json& item : array_at(object, {"spec", "limits"})) {
    const auto list = [&](std::string_view key) { return read_resource_list(object_at(item, {key})); };
    limit_range->items.push_back({.type = std::string(string_at(item, {"type"})),
                                  .max = list("max"),
                                  .min = list("min"),
                                  .default_limits = list("default"),
                                  .default_requests = list("defaultRequest"),
                                  .max_limit_request_ratio = list("maxLimitRequestRatio")});
  }
  return limit_range;
}

RuntimeClassPtr read_runtime_class(const json& object) {
  auto runtime_class = std::make_shared<RuntimeClass>();
  runtime_class->meta = read_meta(object);
  runtime_class->pod_overhead = read_resource_list(object_at(object, {"overhead", "podFixed"}));
  return runtime_class;
}

}  // namespace muster
