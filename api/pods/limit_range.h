// What namespaces and nodes add to the requests of pods: LimitRanges and RuntimeClasses.
// Immutable once read, and shared. Source: k8s.io/api core/v1 and node/v1.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/pod_spec.h"

namespace muster {

struct LimitRangeItem {
  std::string type;  // "Container", "Pod", "PersistentVolumeClaim"
  ResourceList max;
  ResourceList min;
  ResourceList default_limits;    // `default`
  ResourceList default_requests;  // `defaultRequest`
  ResourceList max_limit_request_ratio;
};
struct LimitRange {
  ObjectMeta meta;
  std::vector<LimitRangeItem> items;
};

struct RuntimeClass {
  ObjectMeta meta;
  ResourceList pod_overhead;  // overhead.podFixed
};

LimitRangePtr read_limit_range(const nlohmann::json& object);
RuntimeClassPtr read_runtime_class(const nlohmann::json& object);

}  // namespace muster
