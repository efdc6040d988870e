// The ConfigMap behind a start barrier, and Services, of which only their being there
// matters.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "api/meta/object_meta.h"

namespace muster {

struct ConfigMap {
  ObjectMeta meta;
  Labels data;
};
using ConfigMapPtr = std::shared_ptr<const ConfigMap>;
ConfigMapPtr read_config_map(const nlohmann::json& object);

struct Service {
  ObjectMeta meta;
};
using ServicePtr = std::shared_ptr<const Service>;
ServicePtr read_service(const nlohmann::json& object);

}  // namespace muster
