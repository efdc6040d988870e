// The CEL rules of muster's definitions (x-kubernetes-validations), known by their text: there are few, and
// a test makes sure that each is known here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace muster::manifests {

enum class CelOutcome { kHolds, kBroken, kUnknownRule };

// `old` is null where there was no value before; a rule that compares with it holds then.
CelOutcome evaluate_cel_rule(std::string_view rule, const nlohmann::json& self, const nlohmann::json& old);

}  // namespace muster::manifests
