#include "api/tolerations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"

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

std::vector<Taint> read_taints(const json& list) {
  std::vector<Taint> taints;
  for (const json& item : list) {
    taints.push_back({.key = std::string(string_at(item, {"key"})),
                      .value = std::string(string_at(item, {"value"})),
                      .effect = std::string(string_at(item, {"effect"}))});
  }
  return taints;
}

std::vector<Toleration> read_tolerations(const json& list) {
  std::vector<Toleration> tolerations;
  for (const json& item : list) {
    tolerations.push_back({.key = std::string(string_at(item, {"key"})),
                           .op = std::string(string_at(item, {"operator"})),
                           .value = std::string(string_at(item, {"value"})),
                           .effect = std::string(string_at(item, {"effect"})),
                           .seconds = int_at(item, {"tolerationSeconds"})});
  }
  return tolerations;
}

json to_json(const std::vector<Toleration>& tolerations) {
  json list = json::array();
  for (const Toleration& toleration : tolerations) {
    json item = json::object();
    if (!toleration.key.empty()) item["key"] = toleration.key;
    if (!toleration.op.empty()) item["operator"] = toleration.op;
    if (!toleration.value.empty()) item["value"] = toleration.value;
    if (!toleration.effect.empty()) item["effect"] = toleration.effect;
    if (toleration.seconds) item["tolerationSeconds"] = *toleration.seconds;
    list.push_back(std::move(item));
  }
  return list;
}

bool tolerates(const Toleration& toleration, const Taint& taint, ComparisonOperators comparison) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;

  const std::string& op = toleration.op;
  if (op.empty() || op == "Equal") return toleration.value == taint.value;
  if (op == "Exists") return true;
  if ((op != "Gt" && op != "Lt") || comparison == ComparisonOperators::kIgnored) return false;
  const std::optional<int64_t> bound = canonical_integer(toleration.value), actual = canonical_integer(taint.value);
  if (!bound || !actual) return false;
  return op == "Lt" ? *actual < *bound : *actual > *bound;
}

bool any_tolerates(const std::vector<Toleration>& tolerations, const Taint& taint, ComparisonOperators comparison) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint, comparison); });
}

}  // namespace muster
