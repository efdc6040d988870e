#include "kinds/strict_fields.h"

#include <nlohmann/json.hpp>

namespace muster {

using nlohmann::json;

StrictFields::StrictFields(const json& value, FieldPath path, FieldErrors& errors)
    : value_(value), path_(std::move(path)), errors_(errors), object_(value.is_object()) {
  if (!object_) errors_.push_back(type_invalid(path_, value, "must be an object"));
}

const json* StrictFields::find(std::string_view name) {
  asked_.emplace(name);
  if (!object_) return nullptr;
  const auto found = value_.find(name);
  return found == value_.end() || found->is_null() ? nullptr : &*found;
}

std::string StrictFields::text(std::string_view name, std::optional<std::string> absent) {
  const json* value = find(name);
  if (value == nullptr) {
    if (!absent && object_) errors_.push_back(required(at(name), "must be given"));
    return absent.value_or("");
  }
  if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
    errors_.push_back(type_invalid(at(name), *value, "must be a text that is not empty"));
    return {};
  }
  return value->get<std::string>();
}

bool StrictFields::truth(std::string_view name, bool absent) {
  const json* value = find(name);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) {
    errors_.push_back(type_invalid(at(name), *value, "must be true or false"));
    return absent;
  }
  return value->get<bool>();
}

int64_t StrictFields::number(std::string_view name, int64_t absent, int64_t least, int64_t most) {
  const json* value = find(name);
  if (value == nullptr) return absent;
  if (!value->is_number_integer() || *value < least || *value > most) {
    errors_.push_back(
        invalid(at(name), *value, "must be a number from " + std::to_string(least) + " to " + std::to_string(most)));
    return absent;
  }
  return value->get<int64_t>();
}

ValuePath StrictFields::path(std::string_view name, Wildcard wildcard, bool optional) {
  const json* value = find(name);
  if (value != nullptr) return read_value_path(*value, at(name), wildcard, errors_);
  if (!optional && object_) errors_.push_back(required(at(name), "must be given"));
  return {};
}

std::vector<std::pair<const json*, FieldPath>> StrictFields::list(std::string_view name, size_t most, bool optional) {
  std::vector<std::pair<const json*, FieldPath>> items;
  const json* value = find(name);
  if (value == nullptr) {
    if (!optional && object_) errors_.push_back(required(at(name), "must be given"));
    return items;
  }
  if (!value->is_array() || value->empty() || value->size() > most) {
    errors_.push_back(invalid(at(name), json(), "must be a list of 1 to " + std::to_string(most) + " items"));
    return items;
  }
  for (size_t i = 0; i < value->size(); ++i) items.emplace_back(&(*value)[i], at(name).index(i));
  return items;
}

void StrictFields::refuse_others() {
  if (!object_) return;
  for (auto field = value_.begin(); field != value_.end(); ++field) {
    if (!asked_.contains(field.key())) errors_.push_back(forbidden(at(field.key()), "there is no such field here"));
  }
}

ValuePath read_value_path(const json& value, const FieldPath& place, StrictFields::Wildcard wildcard,
                          FieldErrors& errors) {
  if (!value.is_string()) {
    errors.push_back(type_invalid(place, value, "must be a path, as spec.suspend"));
    return {};
  }
  auto path = ValuePath::parse(value.get_ref<const std::string&>());
  if (!path) {
    errors.push_back(invalid(place, value, path.error().message));
    return {};
  }
  if (path->has_wildcard() && wildcard == StrictFields::kWithoutWildcard)
    errors.push_back(invalid(place, value, "this path must lead to one value, so it has no '*'"));
  return *std::move(path);
}

}  // namespace muster
