#include "api/tolerations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/go_strconv.h"
#include "api/json.h"

namespace muster {
namespace {

using nlohmann::json;

// Only the canonical form counts: "+5", "05" and "-0" are no numbers here.
std::optional<int64_t> canonical_integer(std::string_view text) {
  const Result<int64_t> value = go_parse_int(text);
  if (!value || std::to_string(*value) != text) return std::nullopt;
  return *value;
}

}  // namespace

bool tolerates(const json& toleration, const json& taint, ComparisonOperators comparison) {
  const std::string_view effect = string_at(toleration, {"effect"}), key = string_at(toleration, {"key"});
  if (!effect.empty() && effect != string_at(taint, {"effect"})) return false;
  if (!key.empty() && key != string_at(taint, {"key"})) return false;

  const std::string_view op = string_at(toleration, {"operator"});
  const std::string_view accepted = string_at(toleration, {"value"}), value = string_at(taint, {"value"});
  if (op.empty() || op == "Equal") return accepted == value;
  if (op == "Exists") return true;
  if ((op != "Gt" && op != "Lt") || comparison == ComparisonOperators::kIgnored) return false;
  const std::optional<int64_t> bound = canonical_integer(accepted), actual = canonical_integer(value);
  if (!bound || !actual) return false;
  return op == "Lt" ? *actual < *bound : *actual > *bound;
}

bool any_tolerates(const json& tolerations, const json& taint, ComparisonOperators comparison) {
  if (!tolerations.is_array()) return false;
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const json& toleration) { return tolerates(toleration, taint, comparison); });
}

bool counts_for_scheduling(const json& taint) {
  const std::string_view effect = string_at(taint, {"effect"});
  return effect == "NoSchedule" || effect == "NoExecute";
}

}  // namespace muster
