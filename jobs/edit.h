// Small edits of Kubernetes objects that hold up against any JSON: nothing here
// throws, and what has the wrong shape is left as it is, for the schema to refuse.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace muster::jobs {

// The object or array at a path; nullptr when a step is missing or something else stands there.
nlohmann::json* existing_object(nlohmann::json& value, std::initializer_list<std::string_view> keys);
const nlohmann::json* existing_object(const nlohmann::json& value, std::initializer_list<std::string_view> keys);
nlohmann::json* existing_array(nlohmann::json& value, std::initializer_list<std::string_view> keys);
const nlohmann::json* existing_array(const nlohmann::json& value, std::initializer_list<std::string_view> keys);

// The object at a path, created if it is missing or null; nullptr when a value on the path is not an
// object.
nlohmann::json* make_object(nlohmann::json& value, std::initializer_list<std::string_view> keys);

// metadata.labels[key] = text.
void set_label(nlohmann::json& object, std::string_view key, std::string_view text);
// spec.suspend, of Jobs and JobSets.
void set_suspend_field(nlohmann::json& job, bool suspend);

}  // namespace muster::jobs
