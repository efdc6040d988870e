// Simulations with nodes.
#pragma once

#include <string>
#include <vector>

#include "test/forecast/scenarios.h"
#include "test/simulation/queues.h"

namespace muster::test {

struct Played {
  forecast::Scenario scenario;
  forecast::History history;
  const forecast::JobRecord& operator[](const std::string& job) const { return history.jobs[number_of(scenario, job)]; }
  forecast::Summary summary() const { return forecast::summarize(scenario, history); }
};

inline Played play(const std::vector<nlohmann::json>& objects, const forecast::ScenarioOptions& options = all_kinds()) {
  Played played{.scenario = scenario_of(objects, options), .history = {}};
  played.history = forecast::run(played.scenario);
  return played;
}

inline nlohmann::json job(const std::string& name, int pods, int cpus, const std::string& run_time,
                          const std::string& arrival = "0s") {
  nlohmann::json made = queued_job(pods, name);
  made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = std::to_string(cpus);
  annotate(made, "run-time", run_time);
  annotate(made, "arrival", arrival);
  return made;
}

inline std::vector<nlohmann::json> with(std::vector<nlohmann::json> objects, const std::vector<nlohmann::json>& more) {
  objects.insert(objects.end(), more.begin(), more.end());
  return objects;
}

// Queues whose flavor has nodes of this many cpus.
inline std::vector<nlohmann::json> queues_on(int quota, const std::string& nodes, const std::string& resources) {
  std::vector<nlohmann::json> objects = queues(quota);
  annotate(objects[0], "nodes", nodes);
  annotate(objects[0], "node-resources", resources);
  return objects;
}

inline nlohmann::json node(const std::string& name, const std::string& cpus,
                           const nlohmann::json& labels = nlohmann::json::object(),
                           const nlohmann::json& taints = nlohmann::json::array()) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", labels}}},
          {"spec", {{"taints", taints}}},
          {"status", {{"allocatable", {{"cpu", cpus}, {"pods", "110"}}}}}};
}

}  // namespace muster::test
