#include "kinds/predicate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "kinds/strict_fields.h"

namespace muster {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? std::string() : to_text(value);
}

bool is_one_of(const json& value, const std::vector<std::string>& values) {
  return std::find(values.begin(), values.end(), text_of(value)) != values.end();
}

bool any_value(const Predicate& test, const json& object, bool (*good)(const json&, const Predicate&)) {
  bool found = false;
  test.path.for_each(object, [&](const json& value) { return !(found = good(value, test)); });
  return found;
}

bool has_condition(const Predicate& test, const json& object) {
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) != test.condition || string_at(condition, {"status"}) != test.status) continue;
    if (test.reason.empty() || string_at(condition, {"reason"}) == test.reason) return true;
  }
  return false;
}

std::vector<std::string> read_values(const json& list, const FieldPath& path, FieldErrors& errors) {
  std::vector<std::string> values;
  if (!list.is_array() || list.empty() || list.size() > Predicate::kMostParts) {
    errors.push_back(
        invalid(path, list, "must be a list of 1 to " + std::to_string(Predicate::kMostParts) + " values"));
    return values;
  }
  for (const json& value : list) values.push_back(text_of(value));
  return values;
}

std::vector<Predicate> read_parts(const json& list, const FieldPath& path, FieldErrors& errors, size_t depth) {
  std::vector<Predicate> parts;
  if (!list.is_array() || list.empty() || list.size() > Predicate::kMostParts || depth >= Predicate::kMostDepth) {
    errors.push_back(invalid(path, json(),
                             "must be a list of 1 to " + std::to_string(Predicate::kMostParts) + " tests, at most " +
                                 std::to_string(Predicate::kMostDepth) + " deep"));
    return parts;
  }
  for (size_t i = 0; i < list.size(); ++i) parts.push_back(read_predicate(list[i], path.index(i), errors, depth + 1));
  return parts;
}

Predicate read_field_test(StrictFields& fields) {
  Predicate test;
  test.path = fields.path("path", StrictFields::kWithWildcard);
  if (const json* in = fields.find("in")) {
    test.kind = Predicate::Kind::kIn;
    test.values = read_values(*in, fields.at("in"), fields.errors());
  } else if (const json* not_in = fields.find("notIn")) {
    test.kind = Predicate::Kind::kNotIn;
    test.values = read_values(*not_in, fields.at("notIn"), fields.errors());
    if (test.path.has_wildcard())
      fields.errors().push_back(forbidden(fields.at("notIn"), "a path with '*' has several values"));
  } else if (fields.find("nonzero") != nullptr && fields.truth("nonzero", false)) {
    test.kind = Predicate::Kind::kNonzero;
  } else if (fields.find("present") != nullptr && fields.truth("present", false)) {
    test.kind = Predicate::Kind::kPresent;
  } else {
    fields.errors().push_back(
        required(fields.at("in"), "a path needs `in`, `notIn`, `nonzero: true` or `present: true`"));
  }
  return test;
}

}  // namespace

bool Predicate::holds(const json& object) const {
  const auto part_holds = [&](const Predicate& part) { return part.holds(object); };
  switch (kind) {
    case Kind::kIn:
      return any_value(*this, object,
                       [](const json& value, const Predicate& test) { return is_one_of(value, test.values); });
    case Kind::kNotIn: {
      const json* value = path.find(object);
      return !is_one_of(value == nullptr ? json() : *value, values);
    }
    case Kind::kNonzero:
      return any_value(*this, object,
                       [](const json& value, const Predicate&) { return value.is_number() && value != 0; });
    case Kind::kPresent:
      return any_value(*this, object, [](const json& value, const Predicate&) { return !value.is_null(); });
    case Kind::kCondition:
      return has_condition(*this, object);
    case Kind::kAll:
      return std::all_of(parts.begin(), parts.end(), part_holds);
    case Kind::kAny:
      return std::any_of(parts.begin(), parts.end(), part_holds);
    case Kind::kNot:
      return !parts.empty() && !parts.front().holds(object);
  }
  return false;
}

Predicate read_predicate(const json& value, const FieldPath& path, FieldErrors& errors, size_t depth) {
  Predicate test;
  StrictFields fields(value, path, errors);
  if (!fields.is_object()) return test;
  if (fields.find("path") != nullptr) {
    test = read_field_test(fields);
  } else if (fields.find("condition") != nullptr) {
    test.kind = Predicate::Kind::kCondition;
    test.condition = fields.text("condition");
    test.status = fields.text("status", "True");
    test.reason = fields.text("reason", "");
  } else if (const json* all = fields.find("all")) {
    test.kind = Predicate::Kind::kAll;
    test.parts = read_parts(*all, path.child("all"), errors, depth);
  } else if (const json* any = fields.find("any")) {
    test.kind = Predicate::Kind::kAny;
    test.parts = read_parts(*any, path.child("any"), errors, depth);
  } else if (const json* inner = fields.find("not")) {
    test.kind = Predicate::Kind::kNot;
    if (depth < Predicate::kMostDepth)
      test.parts.push_back(read_predicate(*inner, path.child("not"), errors, depth + 1));
    else
      errors.push_back(
          invalid(path.child("not"), json(), "a test is at most " + std::to_string(Predicate::kMostDepth) + " deep"));
  } else {
    errors.push_back(required(path, "must have one of path, condition, all, any, not"));
  }
  fields.refuse_others();
  return test;
}

}  // namespace muster
