#include "api/conversion/conversion_fields.h"

#include <algorithm>

#include "api/meta/quantity.h"

namespace muster::conversion {

using nlohmann::json;

Fields* object_at(Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? nullptr : found->second.get_ptr<Fields*>();
}

Fields* made_object(Fields& fields, std::string_view key) {
  json& value = fields.try_emplace(std::string(key)).first->second;
  if (value.is_null()) value = json::object();
  return value.get_ptr<Fields*>();
}

void fill(Fields& fields, std::string_view key, json zero) {
  fields.try_emplace(std::string(key), std::move(zero));
}

void drop(Fields& fields, std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) {
    if (const auto found = fields.find(key); found != fields.end()) fields.erase(found);
  }
}

void drop_empty(Fields& fields, std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) {
    const auto found = fields.find(key);
    if (found == fields.end()) continue;
    const json& value = found->second;
    const bool empty_text = value.is_string() && value.get_ref<const std::string&>().empty();
    if (empty_text || value.empty()) fields.erase(found);
  }
}

void rename(Fields& fields, std::string_view from, std::string_view to) {
  drop(fields, {to});
  const auto found = fields.find(from);
  if (found == fields.end()) return;
  auto node = fields.extract(found);
  node.key() = to;
  fields.insert(std::move(node));
}

json take(Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  if (found == fields.end()) return nullptr;
  json value = std::move(found->second);
  fields.erase(found);
  return value;
}

void canonical_quantity(json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) {
    const bool plain = !text->empty() && text->size() < 16 &&
                       std::all_of(text->begin(), text->end(), [](char c) { return c >= '0' && c <= '9'; });
    if (plain) return;
  }
  if (value.is_null()) return;
  if (auto quantity = Quantity::from_json(value)) value = quantity->to_json();
}

void canonical_quantity(Fields& fields, std::string_view key) {
  if (const auto found = fields.find(key); found != fields.end()) canonical_quantity(found->second);
}

void convert_conditions(Fields& status) {
  for_each_object(status, "conditions", [](Fields& condition) {
    const auto found = condition.find("observedGeneration");
    if (found != condition.end() && found->second == 0) condition.erase(found);
  });
}

}  // namespace muster::conversion
