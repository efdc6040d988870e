// A question about an object of a described kind that is answered with yes or no: whether a field has one of some
// values, whether a condition is there, and these combined.
//
//   {path: status.state, in: [RUNNING]}          one of the values at the path is of the list
//   {path: status.state, notIn: ["", NEW]}       the value is not; what is absent reads as ""
//   {path: status.active.*, nonzero: true}       one of the values is a number other than 0
//   {path: spec.selector.*, present: true}       one of the values is there and not null
//   {condition: Ready, status: "True", reason: X} `status` is "True" unless it is given; `reason` any
//   {all: [...]}, {any: [...]}, {not: {...}}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "kinds/value_path.h"

namespace muster {

struct Predicate {
  static constexpr size_t kMostParts = 20;
  static constexpr size_t kMostDepth = 4;

  enum class Kind { kIn, kNotIn, kNonzero, kPresent, kCondition, kAll, kAny, kNot };
  Kind kind = Kind::kAny;  // of no parts: never
  ValuePath path;
  std::vector<std::string> values;  // texts, or what numbers and truths are as text
  std::string condition, status = "True", reason;
  std::vector<Predicate> parts;

  bool holds(const nlohmann::json& object) const;
};

// Puts what is wrong into the errors.
Predicate read_predicate(const nlohmann::json& value, const FieldPath& path, FieldErrors& errors, size_t depth = 0);

}  // namespace muster
