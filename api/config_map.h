// The ConfigMap behind a start barrier, and Services, of which only their being there
// matters.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"

namespace muster {

struct ConfigMap {
  ObjectMeta meta;
  Labels data;
};
ConfigMapPtr read_config_map(const nlohmann::json& object);

struct Service {
  ObjectMeta meta;
};
ServicePtr read_service(const nlohmann::json& object);

}  // namespace muster
