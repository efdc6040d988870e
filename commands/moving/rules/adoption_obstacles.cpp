// Reasons on muster's side that prevent a move.
#include <algorithm>

#include "api/codec/json.h"
#include "api/config/jobset_configuration.h"
#include "commands/moving/rules/adoption_parts.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/pod_trouble.h"
#include "commands/moving/rules/preflight.h"
#include "runtime/load_settings.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// Of the process, and not of the queues: names, addresses and rates can differ.
constexpr const char* kOfTheProcess[] = {"apiVersion",       "kind",       "namespace",        "internalCertManagement",
                                         "webhook",          "health",     "metrics",          "leaderElection",
                                         "clientConnection", "controller", "pprofBindAddress", "tls",
                                         "visibilityServer"};

// Names of the settings in which two configurations of the queues differ.
std::string differences(const runtime::Settings& kueue, const runtime::Settings& muster) {
  json a = kueue.configuration.kueue.effective, b = muster.configuration.kueue.effective;
  for (const char* key : kOfTheProcess) {
    a.erase(key);
    b.erase(key);
  }
  std::string names;
  for (const json* side : {&a, &b}) {
    for (auto it = side->begin(); it != side->end(); ++it) {
      const bool same = a.contains(it.key()) && b.contains(it.key()) && a[it.key()] == b[it.key()];
      if (!same && names.find(it.key()) == std::string::npos) names += (names.empty() ? "" : ", ") + it.key();
    }
  }
  return names;
}

const json* muster_config_map(const ClusterDump& state, const std::string& ns) {
  return state.find("", "ConfigMap", ns, "muster-config");
}

void compare_settings(const ClusterDump& state, const std::string& ns, bool keep_configuration,
                      std::vector<Finding>& findings) {
  const json* own = muster_config_map(state, ns);
  const json* kueue = kueue_config_map(state);
  if (own == nullptr) {
    findings.push_back({Severity::kBlocker,
                        "muster-configuration",
                        {"ConfigMap " + ns + "/muster-config"},
                        "it is not there: what muster will do is not known",
                        "install muster as docs/migration.md says"});
    return;
  }
  auto muster = runtime::settings_of_text(string_at(*own, {"data", "config.yaml"}), ns);
  if (!muster) {
    findings.push_back({Severity::kBlocker,
                        "muster-configuration",
                        {object_name(*own)},
                        "muster cannot start with it: " + muster.error().message,
                        "correct it"});
    return;
  }
  if (kueue == nullptr || keep_configuration) return;
  auto theirs = runtime::settings_of_text(string_at(*kueue, {"data", kKueueConfigKey}), ns);
  if (!theirs) return;  // preflight reports this
  const std::string names = differences(*theirs, *muster);
  if (names.empty()) return;
  findings.push_back({Severity::kBlocker,
                      "configuration-differs",
                      {object_name(*own), object_name(*kueue)},
                      "muster is configured otherwise than Kueue: " + names,
                      "install muster with Kueue's file (docs/migration.md), or accept it with --keep-configuration"});
}

// For --jobset.
void compare_jobset_settings(const ClusterDump& state, const std::string& ns, bool keep_configuration,
                             std::vector<Finding>& findings) {
  const json* own = muster_config_map(state, ns);
  auto settings = runtime::settings_of_text(own == nullptr ? "" : string_at(*own, {"data", "config.yaml"}), ns);
  if (!settings) return;
  const MusterConfiguration& muster = settings->configuration.muster;
  if (muster.jobset_controller == JobSetController::kExternal)
    findings.push_back({Severity::kBlocker,
                        "jobset-external",
                        {"ConfigMap " + ns + "/muster-config"},
                        "jobSetController is external: muster would not run JobSets",
                        "set it to auto"});
  const json* map = jobset_config_map(state);
  if (map == nullptr || keep_configuration) return;
  const auto theirs = jobset_configuration_of_text(string_at(*map, {"data", kKueueConfigKey}));
  if (!theirs)
    return findings.push_back({Severity::kBlocker,
                               "jobset-configuration",
                               {object_name(*map)},
                               "muster cannot do what this says: " + theirs.error().message,
                               "correct it, or accept the difference with --keep-configuration"});
  for (const std::string& gate : gates_missing_in(muster, *theirs))
    findings.push_back({Severity::kBlocker,
                        "jobset-gate",
                        {object_name(*map) + ": featureGates." + gate},
                        "the gate is on for JobSet's controller and off in muster's configuration",
                        "add jobSetFeatureGates: {" + gate +
                            ": true} to MusterConfiguration, or accept the difference with --keep-configuration"});
}

// Pods that will not start by themselves, if none runs: jobs would be refused until the image is there.
void find_waiting_pods(const ClusterDump& state, const json& deployment, std::vector<Finding>& findings) {
  const std::vector<const json*> pods = pods_of(state, deployment);
  if (std::any_of(pods.begin(), pods.end(), [](const json* pod) { return runs(*pod); })) return;
  for (const json* pod : pods) {
    if (auto trouble = trouble_of(*pod))
      findings.push_back({Severity::kBlocker,
                          "muster-not-running",
                          {object_name(*pod)},
                          "no pod of muster runs: " + trouble->problem,
                          std::move(trouble->remedy)});
  }
}

}  // namespace

std::vector<Finding> adoption_obstacles(const ClusterDump& state, const AdoptionOptions& options,
                                        bool keep_configuration) {
  std::vector<Finding> findings;
  const std::string& ns = options.muster_namespace;
  const json* deployment = muster_deployment(state, ns);
  if (deployment == nullptr || int_at(*deployment, {"spec", "replicas"}).value_or(1) == 0)
    findings.push_back({Severity::kBlocker,
                        "muster-not-installed",
                        {"Deployment " + ns + "/muster"},
                        deployment == nullptr ? "muster is not installed" : "muster has no replica",
                        "install muster beside Kueue as docs/migration.md says; it waits as long as Kueue is there"});
  else if (int_at(*deployment, {"status", "replicas"}).value_or(0) == 0)
    findings.push_back({Severity::kBlocker,
                        "muster-not-running",
                        {"Deployment " + ns + "/muster"},
                        "no pod of muster was created",
                        "kubectl -n " + ns + " describe deployment muster"});
  else
    find_waiting_pods(state, *deployment, findings);
  compare_settings(state, ns, keep_configuration, findings);
  if (options.jobset) compare_jobset_settings(state, ns, keep_configuration, findings);
  return sorted_findings(std::move(findings));
}

}  // namespace muster::commands
