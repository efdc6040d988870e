#include "kinds/container_defaults.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {
namespace {

using nlohmann::json;

void fill(json& object, const char* field, const char* value) {
  if (!object.contains(field)) object[field] = value;
}

// "latest" is always pulled, also if the tag is missing.
const char* pull_policy_of(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return "IfNotPresent";
  const size_t slash = image.rfind('/');
  const size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  return colon == std::string_view::npos || image.substr(colon) == ":latest" ? "Always" : "IfNotPresent";
}

}  // namespace

void fill_container_defaults(json& container) {
  if (!container.is_object()) return;
  fill(container, "terminationMessagePath", "/dev/termination-log");
  fill(container, "terminationMessagePolicy", "File");
  fill(container, "imagePullPolicy", pull_policy_of(string_at(container, {"image"})));
  if (container.contains("ports") && container["ports"].is_array()) {
    for (json& port : container["ports"]) {
      if (port.is_object()) fill(port, "protocol", "TCP");
    }
  }
  if (!container.contains("env") || !container["env"].is_array()) return;
  for (json& variable : container["env"]) {
    const json::json_pointer reference("/valueFrom/fieldRef");
    if (variable.is_object() && variable.contains(reference) && variable[reference].is_object())
      fill(variable[reference], "apiVersion", "v1");
  }
}

}  // namespace muster
