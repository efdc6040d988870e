#include "test/world/selection.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "api/codec/json.h"

namespace muster::world {
namespace {

using nlohmann::json;

// "metadata.name" of an object; nullopt if the object has no such string.
std::optional<std::string_view> text_at(const json& object, std::string_view path) {
  const json* value = &object;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    value = find_path(*value, {path.substr(0, dot)});
    if (value == nullptr) return std::nullopt;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  const auto* text = value->get_ptr<const std::string*>();
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

// `read` gives the value of a key, or nullopt.
template <class Read>
bool holds(std::string_view term, const Read& read) {
  if (term.starts_with('!')) return !read(term.substr(1));
  const size_t equals = term.find('=');
  if (equals == std::string_view::npos) return read(term).has_value();
  const bool negated = equals > 0 && term[equals - 1] == '!';
  const std::string_view key = term.substr(0, negated ? equals - 1 : equals);
  std::string_view wanted = term.substr(equals + 1);
  if (wanted.starts_with('=')) wanted.remove_prefix(1);
  const std::optional<std::string_view> value = read(key);
  return negated ? value != wanted : value == wanted;
}

template <class Read>
bool all_hold(std::string_view terms, const Read& read) {
  while (!terms.empty()) {
    const size_t comma = terms.find(',');
    if (!holds(terms.substr(0, comma), read)) return false;
    terms = comma == std::string_view::npos ? std::string_view() : terms.substr(comma + 1);
  }
  return true;
}

}  // namespace

bool Selection::matches(const json& object) const {
  return all_hold(labels, [&](std::string_view key) { return label(object, key); }) &&
         all_hold(fields, [&](std::string_view path) {
           const auto text = text_at(object, path);
           // A field that is not set is the empty string to a field selector.
           return std::optional<std::string_view>(text.value_or(""));
         });
}

}  // namespace muster::world
