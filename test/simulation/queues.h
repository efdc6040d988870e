// Quota for the simulation's tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/meta/constants.h"
#include "kinds/typed_object.h"
#include "test/simulation/manifests.h"

namespace muster::test {

// A flavor, a ClusterQueue of this many cpus, and the LocalQueue `team` before it.
inline std::vector<nlohmann::json> queues(int cpus) {
  using nlohmann::json;
  const json quota = {{"name", "cpu"}, {"nominalQuota", std::to_string(cpus)}};
  const json flavor = {{"name", "default"}, {"resources", json::array({quota})}};
  const json group = {{"coveredResources", {"cpu"}}, {"flavors", json::array({flavor})}};
  return {
      {{"apiVersion", kResourceFlavors.api_version}, {"kind", "ResourceFlavor"}, {"metadata", {{"name", "default"}}}},
      {{"apiVersion", kClusterQueues.api_version},
       {"kind", "ClusterQueue"},
       {"metadata", {{"name", "cluster"}}},
       {"spec", {{"namespaceSelector", json::object()}, {"resourceGroups", json::array({group})}}}},
      {{"apiVersion", kLocalQueues.api_version},
       {"kind", "LocalQueue"},
       {"metadata", {{"name", "team"}, {"namespace", "default"}}},
       {"spec", {{"clusterQueue", "cluster"}}}}};
}

// Two teams in one cohort, each with a ClusterQueue of this many cpus and a LocalQueue of its
// name, that take back what they lent and preempt by priority; and the classes `low` and
// `high`.
inline std::vector<nlohmann::json> two_teams(int cpus) {
  using nlohmann::json;
  std::vector<json> objects = {queues(cpus)[0]};
  for (const char* team : {"red", "blue"}) {
    json queue = queues(cpus)[1], local = queues(cpus)[2];
    queue["metadata"]["name"] = team;
    queue["spec"]["cohortName"] = "all";
    queue["spec"]["preemption"] = {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}};
    local["metadata"]["name"] = team;
    local["spec"]["clusterQueue"] = team;
    objects.insert(objects.end(), {queue, local});
  }
  for (const auto& [name, value] : {std::pair("low", 10), std::pair("high", 100)}) {
    objects.push_back({{"apiVersion", kWorkloadPriorityClasses.api_version},
                       {"kind", kWorkloadPriorityClasses.kind},
                       {"metadata", {{"name", name}}},
                       {"value", value}});
  }
  return objects;
}

// A Job of this many pods that ask for a cpu each, in the queue `team`.
inline nlohmann::json queued_job(int pods, const std::string& name) {
  nlohmann::json job = job_of(pods, name);
  job["metadata"]["labels"] = {{kQueueNameLabel, "team"}};
  job["spec"]["template"]["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1"}}}};
  return job;
}

}  // namespace muster::test
