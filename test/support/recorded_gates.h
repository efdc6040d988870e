// The feature gates under which the vectors were recorded.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/config/feature_gates.h"
#include "test/support/vectors.h"

namespace muster::test {

// Sets the gates that the field featureGates names. The test fails where a gate is unknown.
inline void set_named_gates(const nlohmann::json& input, FeatureGates& gates) {
  for (const auto& [name, on] : input.value("featureGates", FeatureGateMap())) {
    const FeatureGate* gate = find_feature_gate(name);
    REQUIRE_MESSAGE(gate != nullptr, name);
    gates.set(gate->gate, on);
  }
}

// Those of the line; of the others those that Kueue 0.20 has changed, with their recorded values. A gate that the
// recorded commit did not have is off.
inline FeatureGates recorded_gates(const nlohmann::json& input) {
  static const nlohmann::json recorded =
      nlohmann::json::parse(read_source_file("test/vectors/feature_gates.json")).at("kueue");
  FeatureGates gates;
  for (const FeatureGate& gate : known_feature_gates()) {
    const auto found = recorded.find(gate.name);
    const bool was_on = found != recorded.end() && found->at("default").get<bool>();
    if (was_on != gate.default_enabled && gate.stage != GateStage::kRemoved) gates.set(gate.gate, was_on);
  }
  set_named_gates(input, gates);
  return gates;
}

}  // namespace muster::test
