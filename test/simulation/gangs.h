// JobSets and Jobs that start as a group, in a simulated world, and what became of them.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "test/simulation/manifests.h"
#include "test/simulation/require_done.h"
#include "test/world/world.h"

namespace muster::test {

inline const ObjectKey kTrain{&kJobSets, "default", "train"};
inline const ObjectKey kJobMap{&kConfigMaps, "default", "train.job-group-scheduling"};
inline const ObjectKey kJobSetMap{&kConfigMaps, "default", "train-group-scheduling"};

// Runs for ever unless something ends it.
inline nlohmann::json replicated(const char* name, int replicas, int pods, const char* run_seconds = "1000000") {
  nlohmann::json pod = pod_template();
  pod["metadata"]["annotations"] = {{world::kRunSeconds, run_seconds}};
  return {
      {"name", name},
      {"replicas", replicas},
      {"template", {{"spec", {{"parallelism", pods}, {"completions", pods}, {"backoffLimit", 3}, {"template", pod}}}}}};
}

// "driver" of one pod and "workers" of two Jobs with two pods each.
inline nlohmann::json gang_jobset(int timeout_seconds = 300, const nlohmann::json& spec = nlohmann::json::object()) {
  nlohmann::json object = {
      {"apiVersion", "jobset.x-k8s.io/v1alpha2"},
      {"kind", "JobSet"},
      {"metadata", {{"name", "train"}, {"namespace", "default"}}},
      {"spec",
       {{"groupSchedulingConfig", {{"timeoutAfterSeconds", timeout_seconds}}},
        {"replicatedJobs", nlohmann::json::array({replicated("driver", 1, 1), replicated("workers", 2, 2)})}}}};
  object["spec"].merge_patch(spec);
  return object;
}

inline nlohmann::json long_gang(int pods, int timeout_seconds = 300) {
  nlohmann::json job = gang_of(pods, timeout_seconds);
  job["spec"]["template"]["metadata"]["annotations"] = {{world::kRunSeconds, "1000000"}};
  return job;
}

inline bool waits(world::World& world, int pods) {
  return world.run_until([&] { return world.pods_waiting("train") == pods; }, std::chrono::minutes(3));
}

inline bool runs(world::World& world, int pods, Duration limit = std::chrono::minutes(3)) {
  return world.run_until([&] { return world.pods_running("train") == pods; }, limit);
}

inline std::string condition_text(const world::World& world, const ObjectKey& key, std::string_view type) {
  const nlohmann::json object = world.get(key);
  for (const nlohmann::json& condition : array_at(object, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) == type)
      return std::string(string_at(condition, {"status"})) + " " + std::string(string_at(condition, {"reason"})) + " " +
             std::string(string_at(condition, {"message"}));
  }
  return "";
}

inline std::string decided(const world::World& world, const ObjectKey& map, std::string_view key) {
  const nlohmann::json object = world.get(map);
  return std::string(string_at(object, {"data", key}));
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline void suspend(world::World& world, const ObjectKey& key, bool suspended) {
  require_done(world.patch(key, {{"spec", {{"suspend", suspended}}}}));
}

}  // namespace muster::test
