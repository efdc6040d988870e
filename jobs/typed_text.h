// Objects as the typed API sees them, for error messages and comparisons: fields in the order of the API's
// documentation, and missing fields equal to empty ones.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "api/meta/field_error.h"

namespace muster::jobs {

// An object's fields in order; fields that are not listed follow by their names.
struct TypedShape;
struct TypedField {
  std::string_view name;
  const TypedShape* shape = nullptr;  // of the value, or of each element of a list
  std::string_view when_empty = {};   // what is printed for an empty value; nothing: leave it out
  bool shows_empty_list = false;      // a list that is written and empty is printed as []
};
struct TypedShape {
  std::span<const TypedField> fields;
};

extern const TypedShape kTypedMetadata;
extern const TypedShape kTypedPodTemplate;
extern const TypedShape kTypedToleration;

// A value, or a list of values, of one shape. Quantities of resources are printed in
// their canonical form.
std::string print_typed(const nlohmann::json& value, const TypedShape& shape);

// Whether two values say the same. Quantities of resources are compared by value.
bool same_in_typed_api(const nlohmann::json& one, const nlohmann::json& other);

// The fields below `path` in which `now` differs from `before`, as errors with `detail`: as deep as both have members
// or elements to compare. A list that became longer or shorter is one field, whose value is the names of its elements.
// Long values are left out, and so is what follows the tenth field.
FieldErrors changes_in_typed_api(const nlohmann::json& before, const nlohmann::json& now, const FieldPath& path,
                                 std::string_view detail);

}  // namespace muster::jobs
