// Taints of nodes and flavors, and what tolerates them (k8s.io/api core/v1
// ToleratesTaint). Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // "NoSchedule", "PreferNoSchedule", "NoExecute"

  // Whether it keeps new pods away at all; PreferNoSchedule only discourages.
  bool counts_for_scheduling() const { return effect == "NoSchedule" || effect == "NoExecute"; }
  bool operator==(const Taint&) const = default;
};
std::vector<Taint> read_taints(const nlohmann::json& list);

struct Toleration {
  std::string key;  // empty: any
  std::string op;   // "" and "Equal" are the same; "Exists", "Gt", "Lt"
  std::string value;
  std::string effect;  // empty: any
  std::optional<int64_t> seconds;

  bool operator==(const Toleration&) const = default;
};
std::vector<Toleration> read_tolerations(const nlohmann::json& list);
nlohmann::json to_json(const std::vector<Toleration>& tolerations);

// Numeric Gt and Lt tolerations are an option of the cluster; Kueue honours them for the taints of flavors.
enum class ComparisonOperators { kHonoured, kIgnored };

// Whether one toleration accepts the taint; an unknown operator accepts nothing.
bool tolerates(const Toleration& toleration, const Taint& taint, ComparisonOperators comparison);
bool any_tolerates(const std::vector<Toleration>& tolerations, const Taint& taint, ComparisonOperators comparison);

}  // namespace muster
