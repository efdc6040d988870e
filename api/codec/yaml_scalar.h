// What a YAML scalar means, by the rules of YAML 1.1 as go-yaml v2 applies them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// `plain` is true for a scalar without quotes; `tag` is its explicit tag in full, or empty.
// Infinity and not-a-number, which JSON does not have, come back as floats.
Result<nlohmann::json> resolve_yaml_scalar(std::string_view text, bool plain, std::string_view tag);

// A key as text: numbers and booleans are printed. null, lists and objects cannot be keys.
Result<std::string> yaml_key_text(const nlohmann::json& key);

// As Go prints floats: 0.1, 1e+06, .inf.
std::string yaml_float_text(double value);
std::string yaml_float_text(float value);

// Whether text without quotes would not be read back as that text: "yes", "1e3", "~",
// "2001-01-01", "1:30".
bool needs_yaml_quotes(std::string_view text);

}  // namespace muster
