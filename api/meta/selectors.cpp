#include "api/meta/selectors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/names.h"

namespace muster {
namespace {

using nlohmann::json;
using Operator = LabelRequirement::Operator;

FieldError wrong(std::string field, const std::string& value, std::string detail) {
  return {std::move(field), FieldErrorType::kInvalid, go_quote(value), std::move(detail)};
}

// The required number of values for each operator; the list is shown as received.
void check_value_count(FieldErrors& errors, Operator op, const json& values, const std::string& field) {
  const char* rule = nullptr;
  switch (op) {
    case Operator::kIn:
    case Operator::kNotIn:
      if (values.empty()) rule = "for 'in', 'notin' operators, values set can't be empty";
      break;
    case Operator::kExists:
    case Operator::kDoesNotExist:
      if (!values.empty()) rule = "values set must be empty for exists and does not exist";
      break;
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      if (values.size() != 1) rule = "for 'Gt', 'Lt' operators, exactly one value is required";
      break;
    case Operator::kEquals:
      if (values.size() != 1) rule = "exact-match compatibility requires one single value";
      break;
  }
  if (rule != nullptr) errors.push_back(invalid(field, values, rule));
}

std::optional<int64_t> integer(const std::string& text) {
  const Result<int64_t> value = go_parse_int(text);
  return value ? std::optional(*value) : std::nullopt;
}

Result<Operator> selector_operator(const json& expression) {
  const std::string_view name = string_at(expression, {"operator"});
  if (name == "In") return Operator::kIn;
  if (name == "NotIn") return Operator::kNotIn;
  if (name == "Exists") return Operator::kExists;
  if (name == "DoesNotExist") return Operator::kDoesNotExist;
  return fail(go_quote(name) + " is not a valid label selector operator");
}

// The shapes that Kubernetes' decoder would already have refused.
std::optional<Error> shape_error(const json& selector) {
  if (!selector.is_object()) return Error{"a label selector must be an object"};
  for (const auto& [key, value] : object_at(selector, {"matchLabels"}).items()) {
    if (!value.is_string()) return Error{"matchLabels[" + key + "]: must be a string, write it in quotes"};
  }
  const auto has_other_type = [&selector](const char* key, json::value_t type) {
    const auto it = selector.find(key);
    return it != selector.end() && !it->is_null() && it->type() != type;
  };
  if (has_other_type("matchLabels", json::value_t::object)) return Error{"matchLabels: must be an object"};
  if (has_other_type("matchExpressions", json::value_t::array)) return Error{"matchExpressions: must be a list"};
  return std::nullopt;
}

}  // namespace

Labels labels_of(const json& object) {
  Labels labels;
  for (const auto& [key, value] : object_at(object, {"metadata", "labels"}).items()) {
    if (const auto* text = value.get_ptr<const std::string*>()) labels.emplace(key, *text);
  }
  return labels;
}

bool LabelRequirement::matches(const Labels& labels) const {
  const auto it = labels.find(key);
  const bool exists = it != labels.end();
  const auto listed = [&] { return std::find(values.begin(), values.end(), it->second) != values.end(); };
  switch (op) {
    case Operator::kEquals:
    case Operator::kIn:
      return exists && listed();
    case Operator::kNotIn:
      return !exists || !listed();
    case Operator::kExists:
      return exists;
    case Operator::kDoesNotExist:
      return !exists;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      if (!exists || values.size() != 1) return false;
      const std::optional<int64_t> left = integer(it->second), right = integer(values.front());
      if (!left || !right) return false;
      return op == Operator::kGreaterThan ? *left > *right : *left < *right;
    }
  }
  return false;
}

std::string LabelRequirement::text() const {
  const std::string list = join(values, ",");
  switch (op) {
    case Operator::kEquals:
      return key + "=" + list;
    case Operator::kIn:
      return key + " in (" + list + ")";
    case Operator::kNotIn:
      return key + " notin (" + list + ")";
    case Operator::kExists:
      return key;
    case Operator::kDoesNotExist:
      return "!" + key;
    case Operator::kGreaterThan:
      return key + ">" + list;
    case Operator::kLessThan:
      return key + "<" + list;
  }
  return key;
}

Result<LabelRequirement, FieldErrors> make_requirement(std::string key, Operator op, const json& values,
                                                       const std::string& field) {
  const FieldPath path(field);
  const FieldPath values_path = path.child("values");
  FieldErrors errors;
  if (const auto messages = is_qualified_name(key); !messages.empty()) {
    errors.push_back(wrong(path.child("key"), key, join(messages, "; ")));
  }
  check_value_count(errors, op, values, values_path);

  std::vector<std::string> texts;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* text = values[i].get_ptr<const std::string*>();
    if (text == nullptr) {
      errors.push_back(type_invalid(values_path.index(i), values[i], "must be a string, write it in quotes"));
      return fail_with(std::move(errors));
    }
    texts.push_back(*text);
  }
  if (op == Operator::kGreaterThan || op == Operator::kLessThan) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (integer(texts[i])) continue;
      errors.push_back(wrong(values_path.index(i), texts[i], "for 'Gt', 'Lt' operators, the value must be an integer"));
    }
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (const auto messages = is_valid_label_value(texts[i]); !messages.empty()) {
      errors.push_back(wrong(values_path.index(i).key(key), texts[i], join(messages, "; ")));
    }
  }
  if (!errors.empty()) return fail_with(std::move(errors));
  std::sort(texts.begin(), texts.end());
  return LabelRequirement{std::move(key), op, std::move(texts)};
}

std::string aggregate_text(const FieldErrors& errors) {
  std::vector<std::string> texts;
  for (const FieldError& error : errors) {
    std::string text = error.text();
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts.size() == 1 ? texts.front() : "[" + join(texts, ", ") + "]";
}

LabelSelector LabelSelector::everything() {
  LabelSelector selector;
  selector.nothing_ = false;
  return selector;
}

Result<LabelSelector> LabelSelector::parse(const json& source) {
  if (source.is_null()) return LabelSelector();
  if (const std::optional<Error> error = shape_error(source)) return fail(error->message);
  LabelSelector selector = everything();
  const auto add = [&selector](std::string key, Operator op, const json& values) -> std::optional<Error> {
    auto requirement = make_requirement(std::move(key), op, values, "");
    if (!requirement) return Error{aggregate_text(requirement.error())};
    selector.requirements_.push_back(std::move(requirement).value());
    return std::nullopt;
  };
  for (const auto& [key, value] : object_at(source, {"matchLabels"}).items()) {
    if (const auto error = add(key, Operator::kEquals, json::array({value}))) return fail(error->message);
  }
  for (const json& expression : array_at(source, {"matchExpressions"})) {
    const Result<Operator> op = selector_operator(expression);
    if (!op) return fail(op.error().message);
    // An empty list of a selector is shown as null: Kubernetes copies it into a nil slice.
    const json& values = array_at(expression, {"values"});
    const auto error = add(std::string(string_at(expression, {"key"})), *op, values.empty() ? json() : values);
    if (error) return fail(error->message);
  }
  std::stable_sort(selector.requirements_.begin(), selector.requirements_.end(),
                   [](const Requirement& a, const Requirement& b) { return a.key < b.key; });
  return selector;
}

bool LabelSelector::matches(const Labels& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(),
                                  [&labels](const Requirement& r) { return r.matches(labels); });
}

std::string LabelSelector::text() const {
  std::vector<std::string> texts;
  for (const Requirement& requirement : requirements_) texts.push_back(requirement.text());
  return join(texts, ",");
}

}  // namespace muster
