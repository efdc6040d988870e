// dependsOn makes a replicated job wait until another is ready or complete. A member of a gang is never ready
// before the whole gang has started. This is also true for a chain over other jobs. Rejected, for example, if
// both are targets:
//
//   replicatedJobs: [{name: driver, ...}, {name: workers, dependsOn: [{name: driver, status: Ready}], ...}]
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_depends_on {
namespace {

using nlohmann::json;
using Dependencies = std::map<std::string_view, std::vector<std::string_view>>;

Dependencies dependencies_of(const json& replicated_jobs) {
  Dependencies dependencies;
  for (const json& replicated : replicated_jobs) {
    auto& list = dependencies[string_at(replicated, {"name"})];
    for (const json& dependency : array_at(replicated, {"dependsOn"})) list.push_back(string_at(dependency, {"name"}));
  }
  return dependencies;
}

// A target that is `from` itself or for which `from` waits, over any number of steps; empty if no target
// exists.
std::string_view reachable_target(const Dependencies& dependencies, const jobs::GroupConfig& config,
                                  std::string_view from) {
  std::set<std::string_view> seen;
  std::vector<std::string_view> open = {from};
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    if (config.has_target(name)) return name;
    if (auto it = dependencies.find(name); it != dependencies.end()) {
      open.insert(open.end(), it->second.begin(), it->second.end());
    }
  }
  return {};
}

FieldErrors check(const Review& review) {
  const std::optional<jobs::GroupConfig> config = jobs::group_config(jobs::jobset, review.request.object);
  if (!config) return {};
  const json& replicated_jobs = array_at(review.request.object, {"spec", "replicatedJobs"});
  const Dependencies dependencies = dependencies_of(replicated_jobs);
  FieldErrors errors;
  for (size_t i = 0; i < replicated_jobs.size(); ++i) {
    const std::string_view name = string_at(replicated_jobs[i], {"name"});
    if (!config->has_target(name)) continue;
    const json& depends_on = array_at(replicated_jobs[i], {"dependsOn"});
    for (size_t j = 0; j < depends_on.size(); ++j) {
      const std::string_view dependency = string_at(depends_on[j], {"name"});
      const std::string_view target = reachable_target(dependencies, *config, dependency);
      if (target.empty()) continue;
      std::string detail = std::string(name) + " and " + std::string(target) + " start as a group, so " +
                           std::string(name) + " would wait for " + std::string(dependency);
      if (target != dependency) detail += ", which waits for " + std::string(target) + ",";
      detail += " and neither would ever start; remove the dependency, or leave one of them out of the group's targets";
      errors.push_back(invalid(FieldPath("spec.replicatedJobs").index(i).child("dependsOn").index(j).child("name"),
                               json(dependency), std::move(detail)));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_depends_on",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_depends_on
