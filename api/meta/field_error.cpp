#include "api/meta/field_error.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

using nlohmann::json;

std::string show(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The list of supported values can be a list of the object itself: repeated in each error, it would make the
// answer quadratic in the size of the request.
constexpr size_t kMostListed = 64;
constexpr size_t kMostListedBytes = 1024;

std::string_view phrase_of(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kInvalid:
      return "Invalid value";
    case FieldErrorType::kRequired:
      return "Required value";
    case FieldErrorType::kNotSupported:
      return "Unsupported value";
    case FieldErrorType::kForbidden:
      return "Forbidden";
    case FieldErrorType::kDuplicate:
      return "Duplicate value";
    case FieldErrorType::kNotFound:
      return "Not found";
    case FieldErrorType::kTooLong:
      return "Too long";
    case FieldErrorType::kTooMany:
      return "Too many";
    case FieldErrorType::kTypeInvalid:
      return "Invalid value";
    case FieldErrorType::kInternal:
      return "Internal error";
  }
  return "Internal error";
}

}  // namespace

std::string_view reason_of(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kInvalid:
      return "FieldValueInvalid";
    case FieldErrorType::kRequired:
      return "FieldValueRequired";
    case FieldErrorType::kNotSupported:
      return "FieldValueNotSupported";
    case FieldErrorType::kForbidden:
      return "FieldValueForbidden";
    case FieldErrorType::kDuplicate:
      return "FieldValueDuplicate";
    case FieldErrorType::kNotFound:
      return "FieldValueNotFound";
    case FieldErrorType::kTooLong:
      return "FieldValueTooLong";
    case FieldErrorType::kTooMany:
      return "FieldValueTooMany";
    case FieldErrorType::kTypeInvalid:
      return "FieldValueTypeInvalid";
    case FieldErrorType::kInternal:
      return "InternalError";
  }
  return "InternalError";
}

std::string FieldError::message() const {
  std::string text(phrase_of(type));
  if (!value.empty()) text += ": " + value;
  if (!detail.empty()) text += ": " + detail;
  return text;
}

std::string FieldError::text() const {
  return field.empty() ? message() : field + ": " + message();
}

FieldError invalid(std::string field, const json& value, std::string detail) {
  return {std::move(field), FieldErrorType::kInvalid, show(value), std::move(detail)};
}
FieldError required(std::string field, std::string detail) {
  return {std::move(field), FieldErrorType::kRequired, "", std::move(detail)};
}
FieldError not_supported(std::string field, const json& value, const std::vector<std::string>& supported) {
  std::string detail = "supported values: ";
  for (size_t i = 0; i < supported.size(); ++i) {
    if (i == kMostListed || detail.size() > kMostListedBytes) {
      detail += " and " + std::to_string(supported.size() - i) + " more";
      break;
    }
    detail += (i ? ", " : "") + show(supported[i]);
  }
  return {std::move(field), FieldErrorType::kNotSupported, show(value), std::move(detail)};
}
FieldError forbidden(std::string field, std::string detail) {
  return {std::move(field), FieldErrorType::kForbidden, "", std::move(detail)};
}
FieldError duplicate(std::string field, const json& value) {
  return {std::move(field), FieldErrorType::kDuplicate, show(value), ""};
}
FieldError not_found(std::string field, const json& value) {
  return {std::move(field), FieldErrorType::kNotFound, show(value), ""};
}
FieldError too_long(std::string field, size_t max_bytes) {
  return {std::move(field), FieldErrorType::kTooLong, "",
          "may not be more than " + std::to_string(max_bytes) + " bytes"};
}
FieldError too_many(std::string field, size_t actual, size_t max) {
  return {std::move(field), FieldErrorType::kTooMany, std::to_string(actual),
          "must have at most " + std::to_string(max) + " items"};
}
FieldError type_invalid(std::string field, const json& value, std::string detail) {
  return {std::move(field), FieldErrorType::kTypeInvalid, show(value), std::move(detail)};
}

void append(FieldErrors& to, FieldErrors more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace muster
