#include "jobs/edit.h"

#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"

namespace muster::jobs {

using nlohmann::json;

const json* existing_object(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  return found && found->is_object() ? found : nullptr;
}

const json* existing_array(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  return found && found->is_array() ? found : nullptr;
}

// A caller that gets a mutable value can change every part of it.
json* existing_object(json& value, std::initializer_list<std::string_view> keys) {
  return const_cast<json*>(existing_object(std::as_const(value), keys));
}

json* existing_array(json& value, std::initializer_list<std::string_view> keys) {
  return const_cast<json*>(existing_array(std::as_const(value), keys));
}

json* make_object(json& value, std::initializer_list<std::string_view> keys) {
  json* at = &value;
  for (std::string_view key : keys) {
    auto* members = at->get_ptr<json::object_t*>();
    if (!members) return nullptr;
    auto found = members->find(key);
    if (found == members->end()) found = members->emplace(std::string(key), json::object()).first;
    if (found->second.is_null()) found->second = json::object();
    at = &found->second;
  }
  return at->is_object() ? at : nullptr;
}

void set_label(json& object, std::string_view key, std::string_view text) {
  if (json* labels = make_object(object, {"metadata", "labels"})) (*labels)[std::string(key)] = text;
}

void set_suspend_field(json& job, bool suspend) {
  if (json* spec = make_object(job, {"spec"})) (*spec)["suspend"] = suspend;
}

}  // namespace muster::jobs
