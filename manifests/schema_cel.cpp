#include "manifests/schema_cel.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster::manifests {
namespace {

using nlohmann::json;

bool has(const json& object, const char* field) {
  return find_path(object, {field}) != nullptr;
}

bool starts_in_order(const json& spec) {
  return string_at(spec, {"startupPolicy", "startupPolicyOrder"}) == "InOrder";
}

bool unchanged(const json& self, const json& old) {
  return old.is_null() || self == old;
}

bool group_config_stays(const json& self, const json& old) {
  return old.is_null() || has(self, "groupSchedulingConfig") == has(old, "groupSchedulingConfig");
}

bool one_kind_of_order(const json& self, const json&) {
  const json& jobs = array_at(self, {"replicatedJobs"});
  return !starts_in_order(self) ||
         std::none_of(jobs.begin(), jobs.end(), [](const json& job) { return has(job, "dependsOn"); });
}

bool something_to_order(const json& self, const json&) {
  return !starts_in_order(self) || has(self, "replicatedJobs");
}

struct Rule {
  std::string_view text;
  bool (*holds)(const json& self, const json& old);
};
constexpr std::array kRules = {
    Rule{"self == oldSelf", unchanged},
    Rule{"has(self.groupSchedulingConfig) == has(oldSelf.groupSchedulingConfig)", group_config_stays},
    Rule{"!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
         "has(self.replicatedJobs) && self.replicatedJobs.exists(j, has(j.dependsOn)))",
         one_kind_of_order},
    Rule{"!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder') || "
         "has(self.replicatedJobs)",
         something_to_order},
};

}  // namespace

CelOutcome evaluate_cel_rule(std::string_view rule, const json& self, const json& old) {
  for (const Rule& known : kRules) {
    if (known.text == rule) return known.holds(self, old) ? CelOutcome::kHolds : CelOutcome::kBroken;
  }
  return CelOutcome::kUnknownRule;
}

}  // namespace muster::manifests
