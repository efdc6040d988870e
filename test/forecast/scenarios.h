// Scenarios for the tests of forecast.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/codec/yaml.h"
#include "forecast/run.h"
#include "forecast/scenario_reader.h"
#include "forecast/summary.h"
#include "jobs/job_kind.h"

namespace muster::test {

inline std::vector<forecast::SourceObject> sources(const std::vector<nlohmann::json>& objects) {
  std::vector<forecast::SourceObject> sources;
  for (const nlohmann::json& object : objects)
    sources.push_back({.place = "test:" + std::to_string(sources.size() + 1), .value = object});
  return sources;
}

inline std::vector<nlohmann::json> from_yaml(const std::string& text) {
  const auto documents = read_yaml(text);
  REQUIRE(documents.ok());
  std::vector<nlohmann::json> objects;
  for (const YamlDocument& document : *documents) objects.push_back(document.value);
  return objects;
}

// Every kind of job is queued.
inline forecast::ScenarioOptions all_kinds() {
  forecast::ScenarioOptions options;
  for (const jobs::JobKind* kind : jobs::job_kinds()) options.settings.queues.rules.frameworks.emplace(kind->framework);
  return options;
}

inline forecast::Scenario scenario_of(const std::vector<nlohmann::json>& objects,
                                      const forecast::ScenarioOptions& options = all_kinds()) {
  auto read = forecast::read_scenario(sources(objects), options);
  const std::string why = read ? "" : read.error().message;
  INFO(why);
  REQUIRE(read.ok());
  return std::move(read->scenario);
}

inline std::string refusal_of(const std::vector<nlohmann::json>& objects,
                              const forecast::ScenarioOptions& options = all_kinds()) {
  const auto read = forecast::read_scenario(sources(objects), options);
  return read ? "" : read.error().message;
}

inline void annotate(nlohmann::json& object, const std::string& name, const std::string& value) {
  object["metadata"]["annotations"]["simulate.muster.batch/" + name] = value;
}

// The job's number in the scenario.
inline size_t number_of(const forecast::Scenario& scenario, const std::string& job) {
  for (size_t i = 0; i < scenario.arrivals.size(); ++i) {
    if (forecast::job_name(scenario, i) == "default/" + job) return i;
  }
  FAIL("there is no job " << job);
  return 0;
}

inline double seconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

}  // namespace muster::test
