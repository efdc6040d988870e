#include "api/config/configuration_defaults.h"

#include <nlohmann/json.hpp>
#include <string>

namespace muster {

namespace {

using nlohmann::json;

constexpr std::string_view kIncrementalDispatcher = "kueue.x-k8s.io/multikueue-dispatcher-incremental";

// Kueue has two meanings of "not set": missing, and empty.
void if_absent(json& object, const char* field, json value) {
  if (!object.contains(field)) object[field] = std::move(value);
}
void if_empty(json& object, const char* field, json value) {
  const auto found = object.find(field);
  const bool empty = found == object.end() || found->empty() || *found == "" || *found == "0s";
  if (empty) object[field] = std::move(value);
}
json& part(json& object, const char* field) {
  if_absent(object, field, json::object());
  return object[field];
}

void leader_election(json& election) {
  if (!election.contains("leaderElect")) election["leaderElect"] = true;
  if_empty(election, "leaseDuration", "15s");
  if_empty(election, "renewDeadline", "10s");
  if_empty(election, "retryPeriod", "2s");
  if_empty(election, "resourceLock", "leases");
  if_empty(election, "resourceName", "c1f6bfd2.kueue.x-k8s.io");
  if_absent(election, "resourceNamespace", "");
}

void requeuing(json& wait) {
  json& strategy = part(wait, "requeuingStrategy");
  if_absent(strategy, "timestamp", "Eviction");
  if_absent(strategy, "backoffBaseSeconds", 60);
  if_absent(strategy, "backoffMaxSeconds", 3600);
}

void multikueue(json& configuration) {
  json& multi = part(configuration, "multiKueue");
  if_absent(multi, "gcInterval", "1m0s");
  if_empty(multi, "origin", "multikueue");
  if_absent(multi, "workerLostTimeout", "15m0s");
  if_absent(multi, "dispatcherName", "kueue.x-k8s.io/multikueue-dispatcher-all-at-once");
}

// The defaults that both versions have in common.
void common(json& configuration, std::string_view operator_namespace) {
  if_absent(configuration, "namespace", std::string(operator_namespace));
  if_absent(configuration["webhook"], "port", 9443);
  if_empty(configuration["webhook"], "certDir", "/tmp/k8s-webhook-server/serving-certs");
  if_empty(configuration["metrics"], "bindAddress", ":8443");
  if_absent(configuration["metrics"], "localQueueMetrics", {{"enable", true}});
  if_empty(configuration["health"], "healthProbeBindAddress", ":8081");
  leader_election(part(configuration, "leaderElection"));

  json& certs = part(configuration, "internalCertManagement");
  if_absent(certs, "enable", true);
  if (certs["enable"] == true) {
    if_absent(certs, "webhookServiceName", "kueue-webhook-service");
    if_absent(certs, "webhookSecretName", "kueue-webhook-server-cert");
  }
  json& client = part(configuration, "clientConnection");
  if_absent(client, "qps", 1000);
  if_absent(client, "burst", 1000);
  if_empty(part(configuration, "integrations"), "frameworks", json::array({"batch/job"}));
  if_absent(
      configuration, "managedJobsNamespaceSelector",
      {{"matchExpressions", json::array({{{"key", "kubernetes.io/metadata.name"},
                                          {"operator", "NotIn"},
                                          {"values", json::array({"kube-system", configuration["namespace"]})}}})}});
  multikueue(configuration);

  const auto fairness = configuration.find("admissionFairSharing");
  if (fairness != configuration.end()) if_empty(*fairness, "usageSamplingInterval", "5m0s");
  const auto resources = configuration.find("resources");
  if (resources != configuration.end() && resources->contains("transformations")) {
    for (json& transformation : (*resources)["transformations"]) if_empty(transformation, "strategy", "Retain");
  }
  configuration["apiVersion"] = "config.kueue.x-k8s.io/v1beta2";
  configuration["kind"] = "Configuration";
}

}  // namespace

void apply_v1beta2_defaults(json& configuration, std::string_view operator_namespace) {
  common(configuration, operator_namespace);
  json& wait = part(configuration, "waitForPodsReady");
  if_empty(wait, "timeout", "30m0s");
  if_absent(wait, "blockAdmission", false);
  if_absent(wait, "recoveryTimeout", wait["timeout"]);
  requeuing(wait);
  if_absent(part(configuration, "visibilityServer"), "bindPort", 8082);
  json& multi = configuration["multiKueue"];
  if (multi["dispatcherName"] == kIncrementalDispatcher) {
    if_absent(part(multi, "incrementalDispatcherConfig"), "stepSize", 3);
  }
}

void convert_v1beta1(json& configuration, std::string_view operator_namespace) {
  common(configuration, operator_namespace);
  const auto enabled = [&](const char* block) {
    const auto found = configuration.find(block);
    return found != configuration.end() && found->value("enable", false);
  };
  if (enabled("waitForPodsReady")) {
    json& wait = configuration["waitForPodsReady"];
    wait.erase("enable");
    if_absent(wait, "timeout", "5m0s");
    if_absent(wait, "blockAdmission", true);
    requeuing(wait);
  } else {
    configuration.erase("waitForPodsReady");
  }
  if (enabled("fairSharing")) {
    json& sharing = configuration["fairSharing"];
    sharing.erase("enable");
    if_empty(sharing, "preemptionStrategies", json::array({"LessThanOrEqualToFinalShare", "LessThanInitialShare"}));
  } else {
    configuration.erase("fairSharing");
  }
  // v1beta2 has no place for these; Kueue drops them as well.
  configuration.erase("queueVisibility");
  configuration["integrations"].erase("podOptions");
}

}  // namespace muster
