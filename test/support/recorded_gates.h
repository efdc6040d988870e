// The feature gates under which the vectors were recorded.
#pragma once

#include <nlohmann/json.hpp>

#include "api/config/feature_gates.h"
#include "test/support/vectors.h"

namespace muster::test {

// Those of the line; of the others those that Kueue 0.20 has changed, with their recorded values. A gate that the
// recorded commit did not have is off.
inline FeatureGateMap recorded_gates(const nlohmann::json& input) {
  static const nlohmann::json recorded =
      nlohmann::json::parse(read_source_file("test/vectors/feature_gates.json")).at("kueue");
  FeatureGateMap gates = input.value("featureGates", FeatureGateMap());
  for (const FeatureGate& gate : known_feature_gates()) {
    const auto found = recorded.find(gate.name);
    const bool was_on = found != recorded.end() && found->at("default").get<bool>();
    if (was_on != gate.default_enabled && gate.stage != GateStage::kRemoved) gates.emplace(gate.name, was_on);
  }
  return gates;
}

}  // namespace muster::test
