#include "api/config_map.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {

ConfigMapPtr read_config_map(const nlohmann::json& object) {
  auto map = std::make_shared<ConfigMap>();
  map->meta = read_meta(object);
  map->data = read_string_map(object_at(object, {"data"}));
  return map;
}

ServicePtr read_service(const nlohmann::json& object) {
  auto service = std::make_shared<Service>();
  service->meta = read_meta(object);
  return service;
}

}  // namespace muster
