// KEP-2560's queue in the simulated cluster, and what a job has tried there.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include "api/codec/json.h"
#include "api/workload.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace muster::test {

using namespace muster::world;
using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kTier = "tier";

inline json group_of(const char* resource, const std::vector<std::pair<const char*, int>>& flavors) {
  json list = json::array();
  for (const auto& [name, nominal] : flavors)
    list.push_back({{"name", name},
                    {"resources", json::array({{{"name", resource}, {"nominalQuota", std::to_string(nominal)}}})}});
  return {{"coveredResources", {resource}}, {"flavors", list}};
}

// Minutes of reservation, spot and on-demand, for each: none where it is 0.
inline json rules_of(const std::vector<std::pair<const char*, int>>& minutes) {
  json rules = json::array();
  for (const auto& [name, length] : minutes) {
    json rule = {{"name", name}};
    if (length > 0) rule["timeoutMinutes"] = length;
    rules.push_back(rule);
  }
  return rules;
}

// KEP-2560's queue: this many cpus of each flavor.
inline std::vector<json> three_flavors(const json& rules, const char* policy, int reservation = 1, int spot = 10,
                                       int on_demand = 10) {
  std::vector<json> objects;
  for (const char* name : {"reservation", "spot", "on-demand", "fast", "slow"}) {
    objects.push_back({{"apiVersion", kResourceFlavors.api_version},
                       {"kind", kResourceFlavors.kind},
                       {"metadata", {{"name", name}}},
                       {"spec", {{"nodeLabels", {{kTier, name}}}}}});
  }
  json queue = queues(1)[1];
  queue["spec"]["resourceGroups"] =
      json::array({group_of("cpu", {{"reservation", reservation}, {"spot", spot}, {"on-demand", on_demand}})});
  queue["spec"]["flavorFungibility"] = {{"fallbackStrategy", {{"failurePolicy", policy}, {"rules", rules}}}};
  objects.push_back(queue);
  objects.push_back(queues(1)[2]);
  return objects;
}

inline const json kKepRules = rules_of({{"reservation", 10}, {"spot", 15}, {"on-demand", 0}});

class FlavorWorld : public World {
 public:
  explicit FlavorWorld(const std::vector<json>& objects, WorldOptions options = {}) : World(std::move(options)) {
    for (const json& object : objects) require_done(create(object));
    api_server().on_change([this](const Change& change) { see(change); });
  }

  void submit(const std::string& name, int run_seconds = 60, json more = json::object()) {
    json job = queued_job(1, name);
    job["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, std::to_string(run_seconds)}};
    job.merge_patch(more);
    require_done(create(job));
  }
  json workload(const std::string& job) {
    for (json& candidate : list(kWorkloads)) {
      for (const json& owner : array_at(candidate, {"metadata", "ownerReferences"})) {
        if (owner["name"] == job) return candidate;
      }
    }
    return nullptr;
  }
  WorkloadPtr read(const std::string& job) { return read_workload(workload(job)); }
  bool complete(const std::string& job) { return condition_true(job_key(job), "Complete"); }
  // The flavors of a job's admissions, in order.
  std::vector<std::string> tried(const std::string& job) { return tried_[job]; }
  int evictions(const std::string& job, const std::string& reason) { return evictions_[job + " " + reason]; }
  // For any reason.
  int evictions(const std::string& job) const {
    int all = 0;
    for (const auto& [of, count] : evictions_) all += of.starts_with(job + " ") ? count : 0;
    return all;
  }
  bool runs_on(const std::string& job, const std::string& flavor) {
    for (const json& pod : list(kPods)) {
      const std::string name = pod["metadata"]["name"];
      if (name.starts_with(job + "-") && string_at(pod, {"status", "phase"}) == "Running")
        return string_at(pod, {"spec", "nodeSelector", kTier}) == flavor;
    }
    return false;
  }
  void sold_out(std::initializer_list<const char*> flavors) {
    for (const char* flavor : flavors) nodes().sell_out(kTier, flavor);
  }
  std::string selector_of(const std::string& job) {
    return std::string(string_at(get(job_key(job)), {"spec", "template", "spec", "nodeSelector", kTier}));
  }

 private:
  void see(const Change& change) {
    if (*change.type != kWorkloads || change.removed) return;
    const WorkloadPtr after = read_workload(*change.after);
    const WorkloadPtr before = change.before == nullptr ? nullptr : read_workload(*change.before);
    if (!after->meta.controller) return;
    const std::string job = after->meta.controller->name;
    if (after->has_quota_reserved() && (before == nullptr || !before->has_quota_reserved()))
      tried_[job].push_back(after->status.admission->pod_sets.at(0).flavors.at("cpu"));
    if (after->evicted() && (before == nullptr || !before->evicted()))
      ++evictions_[job + " " + std::string(find_condition(after->status.conditions, "Evicted")->reason)];
  }

  std::map<std::string, std::vector<std::string>> tried_;
  std::map<std::string, int> evictions_;
};

using Names = std::vector<std::string>;

}  // namespace muster::test
