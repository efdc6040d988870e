#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/utf8.h"
#include "api/meta/time.h"
#include "manifests/schema.h"
#include "manifests/schema_cel.h"
#include "manifests/schema_meta.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

const json kNothing;

// The name of a value's type, as the API server says it.
std::string type_name(const json& value) {
  if (value.is_number_float()) return "number";
  if (value.is_number()) return "integer";
  return value.type_name();
}

bool is_integer(const json& value) {
  if (!value.is_number_float()) return value.is_number();
  const double number = value.get<double>();
  return std::isfinite(number) && std::floor(number) == number;
}

bool is_of_type(const json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return is_integer(value);
  if (type == "number") return value.is_number();
  return true;
}

size_t characters_in(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(read_utf8(text).length);
  return count;
}

// Compiled once; the patterns are those of muster's own definitions.
bool matches(const std::string& text, const std::string& pattern) {
  thread_local std::map<std::string, std::unique_ptr<re2::RE2>> compiled;
  auto& expression = compiled[pattern];
  if (!expression) expression = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
  return expression->ok() && re2::RE2::PartialMatch(text, *expression);
}

class Checker {
 public:
  void check(const json& schema, const json& value, const json* old, const FieldPath& path, bool root = false) {
    if (old && *old == value) return;
    if (!check_type(schema, value, path)) return;
    if (value.is_object()) check_object(schema, value, old, path, root);
    if (value.is_array()) check_array(schema, value, old, path);
    if (value.is_string()) check_text(schema, value, path);
    if (value.is_number()) check_number(schema, value, path);
    if (const json& allowed = array_at(schema, {"enum"}); !allowed.empty()) check_enum(allowed, value, path);
    check_cel(schema, value, old, path);
  }

  FieldErrors take() { return std::move(errors_); }

 private:
  // Sentences about bounds begin with the path, as the API server's do.
  void complain(const FieldPath& path, const json& value, const std::string& what) {
    errors_.push_back(invalid(path, value, path.text() + " in body " + what));
  }

  bool check_type(const json& schema, const json& value, const FieldPath& path) {
    const bool either = bool_at(schema, {"x-kubernetes-int-or-string"});
    const std::string type = either ? "integer,string" : std::string(string_at(schema, {"type"}));
    const bool fits = either ? value.is_string() || is_integer(value) : is_of_type(value, type);
    if (fits) return true;
    const std::string actual = type_name(value);
    errors_.push_back(
        type_invalid(path, actual, path.text() + " in body must be of type " + type + ": \"" + actual + "\""));
    return false;
  }

  void check_object(const json& schema, const json& value, const json* old, const FieldPath& path, bool root) {
    for (const std::string& name : strings_at(schema, {"required"})) {
      if (!value.contains(name)) errors_.push_back(required(path.child(name), ""));
    }
    if (const auto most = int_at(schema, {"maxProperties"}); most && value.size() > static_cast<size_t>(*most))
      errors_.push_back(too_many(path, value.size(), static_cast<size_t>(*most)));
    for (const auto& [name, child] : value.items()) {
      if (const json* below = property_schema(schema, name, root))
        check(*below, child, old ? find_path(*old, {name}) : nullptr, path.child(name));
    }
  }

  void check_array(const json& schema, const json& value, const json* old, const FieldPath& path) {
    if (const auto most = int_at(schema, {"maxItems"}); most && value.size() > static_cast<size_t>(*most))
      errors_.push_back(too_many(path, value.size(), static_cast<size_t>(*most)));
    if (const auto least = int_at(schema, {"minItems"}); least && value.size() < static_cast<size_t>(*least))
      complain(path, value.size(), "should have at least " + std::to_string(*least) + " items");
    const std::vector<std::string> keys = strings_at(schema, {"x-kubernetes-list-map-keys"});
    const bool is_map = !keys.empty();
    const std::map<std::string, const json*> before = is_map && old ? by_key(keys, *old) : decltype(before)();
    if (is_map || string_at(schema, {"x-kubernetes-list-type"}) == "set") check_unique(keys, value, path);
    const json* items = find_path(schema, {"items"});
    for (size_t i = 0; items && i < value.size(); ++i) {
      const auto same = is_map ? before.find(to_text(key_of(keys, value[i]))) : before.end();
      check(*items, value[i], same == before.end() ? nullptr : same->second, path.index(i));
    }
  }

  // What distinguishes an item of a map-like list; the item itself where there are no keys.
  static json key_of(const std::vector<std::string>& keys, const json& item) {
    if (keys.empty()) return item;
    json key = json::object();
    for (const std::string& name : keys) {
      if (const json* value = find_path(item, {name})) key[name] = *value;
    }
    return key;
  }

  static std::map<std::string, const json*> by_key(const std::vector<std::string>& keys, const json& list) {
    std::map<std::string, const json*> items;
    if (!list.is_array()) return items;
    for (const json& item : list) items.emplace(to_text(key_of(keys, item)), &item);
    return items;
  }

  void check_unique(const std::vector<std::string>& keys, const json& list, const FieldPath& path) {
    std::map<std::string, int> seen;
    for (size_t i = 0; i < list.size(); ++i) {
      const json key = key_of(keys, list[i]);
      // One error for each key, as the API server.
      if (++seen[to_text(key)] == 2) errors_.push_back(duplicate(path.index(i), key));
    }
  }

  // The first thing that is wrong is said, and no more of it.
  void check_text(const json& schema, const json& value, const FieldPath& path) {
    const std::string& text = value.get_ref<const std::string&>();
    const std::string pattern(string_at(schema, {"pattern"}));
    const auto most = int_at(schema, {"maxLength"}), least = int_at(schema, {"minLength"});
    if (most && characters_in(text) > static_cast<size_t>(*most))
      errors_.push_back(too_long(path, static_cast<size_t>(*most)));
    else if (least && characters_in(text) < static_cast<size_t>(*least))
      complain(path, value, "should be at least " + std::to_string(*least) + " chars long");
    else if (!pattern.empty() && !matches(text, pattern))
      complain(path, value, "should match '" + pattern + "'");
    else if (string_at(schema, {"format"}) == "date-time" && !parse_rfc3339(text))
      complain(path, value, "must be of type date-time: " + to_text(value));
  }

  void check_number(const json& schema, const json& value, const FieldPath& path) {
    const double number = value.get<double>();
    if (string_at(schema, {"format"}) == "int32" &&
        (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max()))
      errors_.push_back(
          invalid(path, value, "Checked value must be of type integer with format int32 in " + path.text()));
    if (const auto least = int_at(schema, {"minimum"}); least && number < static_cast<double>(*least))
      complain(path, value, "should be greater than or equal to " + std::to_string(*least));
    if (const auto most = int_at(schema, {"maximum"}); most && number > static_cast<double>(*most))
      complain(path, value, "should be less than or equal to " + std::to_string(*most));
  }

  void check_enum(const json& allowed, const json& value, const FieldPath& path) {
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    std::vector<std::string> supported;
    for (const json& one : allowed) supported.push_back(one.is_string() ? one.get<std::string>() : to_text(one));
    std::sort(supported.begin(), supported.end());
    errors_.push_back(not_supported(path, value, supported));
  }

  void check_cel(const json& schema, const json& value, const json* old, const FieldPath& path) {
    for (const json& rule : array_at(schema, {"x-kubernetes-validations"})) {
      if (evaluate_cel_rule(string_at(rule, {"rule"}), value, old ? *old : kNothing) != CelOutcome::kBroken) continue;
      FieldError error = invalid(path, value, std::string(string_at(rule, {"message"})));
      if (value.is_structured()) error.value.clear();
      errors_.push_back(std::move(error));
    }
  }

  FieldErrors errors_;
};

}  // namespace

FieldErrors check_schema(const json& schema, const json& object, const json& old) {
  FieldErrors errors = check_metadata(object, old);
  Checker checker;
  checker.check(schema, object, old.is_object() ? &old : nullptr, FieldPath(""), true);
  append(errors, checker.take());
  return errors;
}

}  // namespace muster::manifests
