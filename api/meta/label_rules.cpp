#include "api/meta/label_rules.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/names.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr size_t kMaxAnnotationBytes = 256 * 1024;
constexpr size_t kMaxReasonBytes = 1024;
constexpr size_t kMaxMessageBytes = 32 * 1024;

FieldErrors complaints(const std::string& field, std::string_view value, const std::vector<std::string>& messages) {
  FieldErrors errors;
  for (const std::string& message : messages) errors.push_back(invalid(field, value, message));
  return errors;
}

FieldErrors check_requirement(const FieldPath& path, const json& expression) {
  const std::string_view op = string_at(expression, {"operator"});
  const json& values = array_at(expression, {"values"});
  FieldErrors errors;
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(
          forbidden(path.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else {
    errors.push_back(invalid(path.child("operator"), op, "not a valid selector operator"));
  }
  append(errors, check_label_name(path.child("key"), string_at(expression, {"key"})));
  size_t i = 0;
  for (const json& value : values) {
    const std::string field = path.child("values").index(i++);
    if (const auto* text = value.get_ptr<const std::string*>()) {
      append(errors, complaints(field, *text, is_valid_label_value(*text)));
    }
  }
  return errors;
}

bool is_reason(std::string_view reason) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !reason.empty() && is_letter(reason.front()) && (reason.size() == 1 || is_word(reason.back())) &&
         std::all_of(reason.begin(), reason.end(), [&](char c) { return is_word(c) || c == ',' || c == ':'; });
}

void check_reason(FieldErrors& errors, const std::string& field, std::string_view reason) {
  if (reason.empty()) {
    errors.push_back(required(field, ""));
    return;
  }
  if (!is_reason(reason)) {
    errors.push_back(
        invalid(field, reason,
                "a condition reason must start with alphabetic character, optionally followed by a string "
                "of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' "
                "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or "
                "'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"));
  }
  if (reason.size() > kMaxReasonBytes) errors.push_back(too_long(field, kMaxReasonBytes));
}

FieldErrors check_condition(const FieldPath& path, const json& condition) {
  FieldErrors errors = check_label_name(path.child("type"), string_at(condition, {"type"}));
  const std::string_view status = string_at(condition, {"status"});
  if (status != "True" && status != "False" && status != "Unknown") {
    errors.push_back(not_supported(path.child("status"), status, {"False", "True", "Unknown"}));
  }
  const int64_t generation = int_at(condition, {"observedGeneration"}).value_or(0);
  if (generation < 0) {
    errors.push_back(invalid(path.child("observedGeneration"), generation, "must be greater than or equal to zero"));
  }
  if (string_at(condition, {"lastTransitionTime"}).empty()) {
    errors.push_back(required(path.child("lastTransitionTime"), ""));
  }
  check_reason(errors, path.child("reason"), string_at(condition, {"reason"}));
  if (string_at(condition, {"message"}).size() > kMaxMessageBytes) {
    errors.push_back(too_long(path.child("message"), kMaxMessageBytes));
  }
  return errors;
}

}  // namespace

FieldErrors check_label_name(const std::string& field, std::string_view name) {
  return complaints(field, name, is_qualified_name(name));
}

FieldErrors check_labels(const std::string& field, const json& labels) {
  FieldErrors errors;
  if (!labels.is_object()) return errors;
  for (const auto& [key, value] : labels.items()) {
    append(errors, check_label_name(field, key));
    if (const auto* text = value.get_ptr<const std::string*>()) {
      append(errors, complaints(field, *text, is_valid_label_value(*text)));
    }
  }
  return errors;
}

FieldErrors check_annotations(const std::string& field, const json& annotations) {
  FieldErrors errors;
  if (!annotations.is_object()) return errors;
  size_t bytes = 0;
  for (const auto& [key, value] : annotations.items()) {
    std::string lower = key;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    append(errors, complaints(field, key, is_qualified_name(lower)));
    const auto* text = value.get_ptr<const std::string*>();
    bytes += key.size() + (text != nullptr ? text->size() : 0);
  }
  if (bytes > kMaxAnnotationBytes) errors.push_back(too_long(field, kMaxAnnotationBytes));
  return errors;
}

FieldErrors check_label_selector(const FieldPath& path, const json& selector) {
  FieldErrors errors = check_labels(path.child("matchLabels"), object_at(selector, {"matchLabels"}));
  size_t i = 0;
  for (const json& expression : array_at(selector, {"matchExpressions"})) {
    append(errors, check_requirement(path.child("matchExpressions").index(i++), expression));
  }
  return errors;
}

FieldErrors check_conditions(const FieldPath& path, const json& conditions) {
  FieldErrors errors;
  std::set<std::string_view> types;
  size_t i = 0;
  for (const json& condition : conditions) {
    const FieldPath at = path.index(i++);
    const std::string_view type = string_at(condition, {"type"});
    if (!types.insert(type).second) errors.push_back(duplicate(at.child("type"), type));
    append(errors, check_condition(at, condition));
  }
  return errors;
}

}  // namespace muster
