// JSON as muster accepts it from outside: strict, bounded, and safe to walk.
//
// nlohmann's own parser accepts what must not reach a rule (duplicate keys) and
// builds what later crashes (dump() and copies recurse without limit), so all
// foreign bytes come in through parse_json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct JsonLimits {
  // Kubernetes' own decoder stops at 10,000 (sigs.k8s.io/json).
  size_t max_depth = 10'000;
};

// Refuses invalid UTF-8, duplicate keys (naming their path), trailing bytes and
// nesting beyond the limit. The error says what and at which byte.
Result<nlohmann::json> parse_json(std::string_view bytes, JsonLimits limits = {});

// The same of what the API server sends, without managedFields (api/codec/managed_fields.h).
Result<nlohmann::json> parse_without_managed_fields(std::string_view bytes, JsonLimits limits = {});

// Compact text. Never throws: invalid UTF-8, which parse_json keeps out, would be replaced.
std::string to_text(const nlohmann::json& value);

// Walks keys: at(o, {"metadata", "labels"}). nullptr when a step is missing or not an object.
const nlohmann::json* find_path(const nlohmann::json& value, std::initializer_list<std::string_view> keys);

// The string, integer, … at a path; the empty value when missing, null or of another type.
// The views point into `value`.
std::string_view string_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);
std::optional<int64_t> int_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);
// For fields that Kubernetes keeps as int32: clamped to them; `absent` when there is none.
int32_t int32_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys, int32_t absent = 0);
std::optional<int32_t> optional_int32_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);
bool bool_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);
// The strings of an array; other items are left out.
std::vector<std::string> strings_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);
// An empty array or object (static) when missing, null or of another type.
const nlohmann::json& array_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);
const nlohmann::json& object_at(const nlohmann::json& value, std::initializer_list<std::string_view> keys);

// metadata.labels / metadata.annotations of any object; nullopt when the key is not there.
std::optional<std::string_view> label(const nlohmann::json& object, std::string_view key);
std::optional<std::string_view> annotation(const nlohmann::json& object, std::string_view key);

}  // namespace muster
