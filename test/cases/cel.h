// The part of CEL that the matchConditions of muster's webhooks are written in, evaluated as the API
// server does it: a value that is not there is an error, which `||` and `&&` absorb where the other side decides.
// Source: CEL language definition, "Logical Operators", "Macros" and "Field Selection".
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace muster::test {

// Variables by their names: {"object": ..., "oldObject": ..., "request": ...}. The error names what cannot be
// parsed or evaluated.
Result<bool> evaluate_cel(std::string_view expression, const nlohmann::json& variables);

}  // namespace muster::test
