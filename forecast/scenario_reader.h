// A Scenario from manifests, or from what a cluster holds. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "forecast/arrivals.h"
#include "forecast/scenario.h"

namespace muster::forecast {

// An object in the stored version (kueue.x-k8s.io/v1beta2), and where it was read.
struct SourceObject {
  std::string place;  // "queues.yaml:12", for errors
  nlohmann::json value;
  // Read from a cluster, where others write annotations: a wrong one is noted, and does not stop the simulation.
  bool is_of_others = false;
};

struct ScenarioOptions {
  ReconcilerSettings settings{};
  std::optional<TimePoint> start{};           // nullopt: the latest time in the objects, or 2026-01-01T00:00:00Z
  Duration run_time = std::chrono::hours(1);  // of jobs that do not say how long they run, and have no longest time
  Duration stop_time = std::chrono::seconds(10);
  std::optional<Duration> until{};
  uint64_t seed = 0;
  // Jobs among the objects are templates then, and come by chance only.
  std::optional<RandomArrivals> random{};
  // As if the input had no nodes, and no annotation counted any.
  bool ignore_nodes = false;
  std::vector<ArrivalRow> table{};
  std::string table_name{};  // of the file, for errors
};

struct ReadScenario {
  Scenario scenario;
  std::vector<std::string> notes;  // what was left out or assumed; sentences
  std::string assumed{};           // of them, about jobs that do not say how long they run
};

// Of the same objects in the same order always the same. The error names place, path and reason.
Result<ReadScenario> read_scenario(const std::vector<SourceObject>& objects, const ScenarioOptions& options);

}  // namespace muster::forecast
