#include "api/config/feature_gates.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "api/config/configuration.h"

namespace muster::feature_gates_test {
namespace {

std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const FieldError& error : errors) out.push_back(error.text());
  return out;
}

}  // namespace

TEST_CASE("the table of feature gates is sorted by name so that every gate is found") {
  const auto gates = known_feature_gates();
  CHECK(std::is_sorted(gates.begin(), gates.end(),
                       [](const FeatureGate& a, const FeatureGate& b) { return a.name < b.name; }));
  for (const FeatureGate& gate : gates) {
    INFO(gate.name);
    CHECK(find_feature_gate(gate.name) == &gate);
    CHECK(&feature_gate(gate.gate) == &gate);
    CHECK(FeatureGates().enabled(gate.gate) == gate.default_enabled);
    CHECK_FALSE((gate.stage == GateStage::kAlpha && gate.default_enabled));
  }
  CHECK(find_feature_gate("Partial") == nullptr);
}

TEST_CASE("the text of --feature-gates is read as Kueue reads it") {
  struct Row {
    std::string name;
    const char* text;
    FeatureGateMap gates;
    const char* error = nullptr;
  };
  const Row rows[] = {
      {"nothing names no gate", "", {}},
      {"one gate", "MultiKueue=false", {{"MultiKueue", false}}},
      {"several gates with spaces and an empty entry",
       " MultiKueue = true ,,PartialAdmission=F",
       {{"MultiKueue", true}, {"PartialAdmission", false}}},
      {"the last mention wins", "MultiKueue=true,MultiKueue=0", {{"MultiKueue", false}}},
      {"a name alone is an error", "MultiKueue", {}, "missing bool value for MultiKueue"},
      {"a value that is no boolean is an error",
       "MultiKueue=on",
       {},
       "invalid value of MultiKueue=on, err: strconv.ParseBool: parsing \"on\": invalid syntax"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto parsed = parse_feature_gates(row.text);
    REQUIRE(parsed.ok() == (row.error == nullptr));
    if (parsed.ok()) {
      CHECK(*parsed == row.gates);
    } else {
      CHECK(parsed.error().message == row.error);
    }
  }
}

TEST_CASE("AllAlpha and AllBeta reach every gate of their stage that is not named itself") {
  const FeatureGates resolved = resolve_feature_gates(
      {{"AllAlpha", true}, {"AllBeta", false}, {"ShortWorkloadNames", false}, {"PartialAdmission", true}});
  CHECK(resolved.enabled(Gate::kPriorityBoost));
  CHECK_FALSE(resolved.enabled(Gate::kShortWorkloadNames));
  CHECK_FALSE(resolved.enabled(Gate::kMultiKueue));
  CHECK(resolved.enabled(Gate::kPartialAdmission));
  CHECK(resolved.enabled(Gate::kTLSOptions));
}

TEST_CASE("wrong feature gates are refused with the reason") {
  struct Row {
    std::string name;
    const char* flag;
    std::optional<FeatureGateMap> file;
    std::vector<std::string> errors;
  };
  const Row rows[] = {
      {"defaults are fine", "", std::nullopt, {}},
      {"a known gate in the file is fine", "", FeatureGateMap{{"PartialAdmission", false}}, {}},
      {"a known gate in the flag is fine", "PartialAdmission=false,AllAlpha=false", std::nullopt, {}},
      {"an unknown gate in the file",
       "",
       FeatureGateMap{{"Nonsense", true}},
       {"featureGates: Invalid value: {\"Nonsense\":true}: unrecognized feature gate: Nonsense"}},
      {"an unknown gate in the flag",
       "Nonsense=true",
       std::nullopt,
       {"featureGates: Invalid value: \"Nonsense=true\": unrecognized feature gate: Nonsense"}},
      {"a flag that cannot be read",
       "MultiKueue",
       std::nullopt,
       {"featureGates: Invalid value: \"MultiKueue\": missing bool value for MultiKueue"}},
      {"a gate that was locked before 0.15 cannot be turned off",
       "ProvisioningACC=false",
       std::nullopt,
       {"featureGates: Invalid value: \"ProvisioningACC=false\": cannot set feature gate ProvisioningACC to false, "
        "feature is locked to true"}},
      {"a stable gate may be named with its only value", "TLSOptions=true", std::nullopt, {}},
      {"flag and file exclude each other",
       "MultiKueue=false",
       FeatureGateMap{{"PartialAdmission", false}},
       {"featureGates: Invalid value: {\"PartialAdmission\":false}: feature gates for CLI and configuration cannot "
        "both specified"}},
      {"a gate needs the gate it builds on",
       "",
       FeatureGateMap{{"UnadmittedWorkloadsObservability", false}, {"UnadmittedWorkloadsExplicitStatus", true}},
       {"featureGates: Invalid value: \"UnadmittedWorkloadsExplicitStatus\": UnadmittedWorkloadsExplicitStatus "
        "requires "
        "UnadmittedWorkloadsObservability to be enabled"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(texts(check_feature_gates(row.flag, row.file)) == row.errors);
  }
}

TEST_CASE("named gates need topology-aware scheduling, and so does a profile") {
  const auto errors = texts(check_feature_gates(
      "TopologyAwareScheduling=false,TASFailedNodeReplacement=true,TASFailedNodeReplacementFailFast=true",
      std::nullopt));
  const std::string named = "featureGates: Invalid value: \"TASFailedNodeReplacement";
  CHECK(errors ==
        std::vector<std::string>{
            named + "\": TASFailedNodeReplacement requires TopologyAwareScheduling to be enabled",
            named + "FailFast\": TASFailedNodeReplacementFailFast requires TopologyAwareScheduling to be enabled",
            "featureGates: Invalid value: 1: cannot use a TAS profile with TAS disabled"});
}

TEST_CASE("the gates of the flag take the place of the file's only when everything is right") {
  Configuration configuration = default_configuration().kueue;
  CHECK_FALSE(apply_feature_gates(configuration, "Nonsense=true").empty());
  CHECK_FALSE(configuration.feature_gates.has_value());
  CHECK(apply_feature_gates(configuration, "MultiKueue=false").empty());
  CHECK(configuration.feature_gates == FeatureGateMap{{"MultiKueue", false}});
  CHECK(apply_feature_gates(configuration, "").empty());
  CHECK(configuration.feature_gates == FeatureGateMap{{"MultiKueue", false}});
}

}  // namespace muster::feature_gates_test
