// Reads the fields of one object of a file that a user writes: each field once, wrong types with their path, and
// unknown fields as errors.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "kinds/value_path.h"

namespace muster {

// Everything given by reference must outlive it.
class StrictFields {
 public:
  StrictFields(const nlohmann::json& value, FieldPath path, FieldErrors& errors);

  bool is_object() const { return object_; }
  FieldErrors& errors() { return errors_; }
  FieldPath at(std::string_view name) const { return path_.child(name); }

  // nullptr when absent or null.
  const nlohmann::json* find(std::string_view name);
  // Required unless there is a default.
  std::string text(std::string_view name, std::optional<std::string> absent = std::nullopt);
  bool truth(std::string_view name, bool absent);
  int64_t number(std::string_view name, int64_t absent, int64_t least, int64_t most);
  enum Wildcard { kWithoutWildcard, kWithWildcard };
  ValuePath path(std::string_view name, Wildcard wildcard = kWithoutWildcard, bool optional = false);
  // Each item with its place; an error unless it is a list of at most this size; no items when absent.
  std::vector<std::pair<const nlohmann::json*, FieldPath>> list(std::string_view name, size_t most, bool optional);
  // An error for each field that was not asked for. Call it last.
  void refuse_others();

 private:
  const nlohmann::json& value_;
  const FieldPath path_;
  FieldErrors& errors_;
  bool object_;
  std::set<std::string, std::less<>> asked_;
};

// A path in a text at `place`.
ValuePath read_value_path(const nlohmann::json& value, const FieldPath& place, StrictFields::Wildcard wildcard,
                          FieldErrors& errors);

}  // namespace muster
