// What is wrong with one field of an object, in Kubernetes' own terms
// (apimachinery's field.Error): rules collect all of them, never just the first.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class FieldErrorType {
  kInvalid,       // the value is of the right type, but not allowed
  kRequired,      // there is no value, and there must be one
  kNotSupported,  // not one of the values that are known
  kForbidden,     // must not be set here, or not now
  kDuplicate,     // appears twice in a list that is a set or a map
  kNotFound,      // names something that does not exist
  kTooLong,
  kTooMany,
  kTypeInvalid,  // a string where a number belongs, and so on
  kInternal,
};

// Kubernetes' machine-readable cause: "FieldValueInvalid" and so on.
std::string_view reason_of(FieldErrorType type);

struct FieldError {
  std::string field;  // "spec.replicatedJobs[0].name"
  FieldErrorType type;
  std::string value;   // the offending value as shown to the user: JSON, strings in quotes; can be empty
  std::string detail;  // what is wrong and what to do, without the value

  // "Invalid value: \"x\": detail", as Kubernetes words it, without the field.
  std::string message() const;
  // "field: message".
  std::string text() const;

  bool operator==(const FieldError&) const = default;
};
using FieldErrors = std::vector<FieldError>;

// Constructors, one per type. `value` is any JSON value.
FieldError invalid(std::string field, const nlohmann::json& value, std::string detail);
FieldError required(std::string field, std::string detail);
FieldError not_supported(std::string field, const nlohmann::json& value, const std::vector<std::string>& supported);
FieldError forbidden(std::string field, std::string detail);
FieldError duplicate(std::string field, const nlohmann::json& value);
FieldError not_found(std::string field, const nlohmann::json& value);
FieldError too_long(std::string field, size_t max_bytes);
FieldError too_many(std::string field, size_t actual, size_t max);
FieldError type_invalid(std::string field, const nlohmann::json& value, std::string detail);

void append(FieldErrors& to, FieldErrors more);

// Builds "spec.template.metadata.annotations[kueue.x-k8s.io/elastic-job]".
class FieldPath {
 public:
  explicit FieldPath(std::string root) : text_(std::move(root)) {}
  FieldPath child(std::string_view name) const {
    return FieldPath(text_.empty() ? std::string(name) : text_ + "." + std::string(name));
  }
  FieldPath index(size_t i) const { return FieldPath(text_ + "[" + std::to_string(i) + "]"); }
  FieldPath key(std::string_view name) const { return FieldPath(text_ + "[" + std::string(name) + "]"); }
  const std::string& text() const { return text_; }
  operator std::string() const { return text_; }

 private:
  std::string text_;
};

}  // namespace muster
