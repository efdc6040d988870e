// What preflight and `muster adopt --jobset` say of the configuration of JobSet's controller.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/yaml.h"
#include "commands/moving/rules/adoption.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/preflight.h"

namespace jobset_settings_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

json config_map(const char* ns, const char* name, std::string_view key, const std::string& text) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", ns}}},
          {"data", {{std::string(key), text}}}};
}

// With what JobSet's file says after its head, and muster's.
ClusterDump dump_of(const std::string& theirs, const std::string& own = "") {
  ClusterDump dump;
  dump.add(config_map("jobset-system", "jobset-manager-config", kKueueConfigKey,
                      "apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n" + theirs));
  dump.add(config_map("muster-system", "muster-config", "config.yaml",
                      "apiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\n" + own));
  return dump;
}

std::string rules_about(const std::vector<Finding>& findings, std::string_view object) {
  std::string text;
  for (const Finding& finding : findings)
    for (const std::string& each : finding.objects)
      if (each.find(object) != std::string::npos) text += (text.empty() ? "" : " ") + std::string(finding.rule);
  return text;
}

TEST_CASE("jobset settings: preflight and adopt name what muster would not do") {
  struct Row {
    const char* name;
    const char* theirs;
    const char* own;
    const char* preflight;
    const char* obstacles;
  };
  const Row rows[] = {
      {"nothing of its own", "", "", "", ""},
      {"settings of the process", "metrics: {bindAddress: ':1'}\n", "", "jobset-configuration", ""},
      {"a gate", "featureGates: {RestartJob: true, TLSOptions: true, InPlaceRestart: false}\n", "", "jobset-gate",
       "jobset-gate"},
      {"a gate that muster has too", "featureGates: {RestartJob: true}\n", "jobSetFeatureGates: {RestartJob: true}\n",
       "jobset-gate", ""},
      {"a gate of what muster does not do", "featureGates: {JobSetWorkloadAwareSchedulingAPI: true}\n", "",
       "jobset-configuration", "jobset-configuration"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const ClusterDump dump = dump_of(row.theirs, row.own);
    // Without --config preflight knows Kueue's file, and not muster's.
    CHECK(rules_about(preflight(dump, {}), "jobset-manager-config") == row.preflight);
    CHECK(rules_about(adoption_obstacles(dump, {.jobset = true}, false), "jobset-manager-config") == row.obstacles);
    CHECK(rules_about(adoption_obstacles(dump, {.jobset = true}, true), "jobset-manager-config") == "");
    CHECK(rules_about(adoption_obstacles(dump, {}, false), "jobset-manager-config") == "");
  }
}

}  // namespace jobset_settings_test
