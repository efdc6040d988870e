#include "api/config/configuration_validate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/configuration.h"
#include "api/meta/time.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr const char* kNotNegative = "must be greater than or equal to 0";

bool is_negative(const json& value) {
  if (value.is_number()) return value.get<double>() < 0;
  if (!value.is_string()) return false;
  return value.get_ref<const std::string&>().starts_with('-');  // a canonical duration
}

void validate_fair_sharing(const json& configuration, FieldErrors& errors) {
  const json* sharing = find_path(configuration, {"fairSharing"});
  if (sharing == nullptr) return;
  const json& strategies = sharing->at("preemptionStrategies");
  if (strategies.empty()) {
    errors.push_back(required("fairSharing.preemptionStrategies", "must be specified"));
    return;
  }
  const std::string final_share = "LessThanOrEqualToFinalShare", initial_share = "LessThanInitialShare";
  if (strategies == json::array({final_share}) || strategies == json::array({initial_share}) ||
      strategies == json::array({final_share, initial_share}))
    return;
  errors.push_back(not_supported("fairSharing.preemptionStrategies", strategies,
                                 {initial_share, final_share, final_share + "," + initial_share}));
}

void validate_admission_fair_sharing(const json& configuration, FieldErrors& errors) {
  const json* sharing = find_path(configuration, {"admissionFairSharing"});
  if (sharing == nullptr) return;
  check_not_negative(*sharing, "admissionFairSharing", "usageHalfLifeTime", errors);
  if (is_negative(sharing->at("usageSamplingInterval"))) {
    // Kueue's message shows the other duration.
    errors.push_back({"admissionFairSharing.usageSamplingInterval", FieldErrorType::kInvalid,
                      json(sharing->at("usageHalfLifeTime")).dump(), "must be greater than 0"});
  }
  const json& weights = object_at(*sharing, {"resourceWeights"});
  for (auto it = weights.begin(); it != weights.end(); ++it) {
    if (!is_negative(*it)) continue;
    errors.push_back(invalid("admissionFairSharing.resourceWeights[" + it.key() + "]", weights, kNotNegative));
  }
}

void validate_retention(const json& configuration, FieldErrors& errors) {
  const json* workloads = find_path(configuration, {"objectRetentionPolicies", "workloads"});
  if (workloads == nullptr) return;
  check_not_negative(*workloads, "objectRetentionPolicies.workloads", "afterFinished", errors);
  check_not_negative(*workloads, "objectRetentionPolicies.workloads", "afterDeactivatedByKueue", errors);
}

// Kueue reports this only when it opens the listener.
void validate_webhook(const json& configuration, FieldErrors& errors) {
  const json& port = configuration.at("webhook").at("port");
  if (port < 1 || port > 65535) {
    errors.push_back(invalid("webhook.port", port, "must be a valid port number (1-65535)"));
  }
}

}  // namespace

FieldError invalid_setting(std::string_view path, const json& value, std::string detail) {
  return {std::string(path), FieldErrorType::kInvalid, print_as_go(value, configuration_field(path)),
          std::move(detail)};
}

void check_not_negative(const json& block, std::string_view block_path, const char* field, FieldErrors& errors) {
  const auto value = block.find(field);
  if (value == block.end() || !is_negative(*value)) return;
  errors.push_back(invalid_setting(std::string(block_path) + "." + field, *value, kNotNegative));
}

void validate_wait_for_pods_ready(const json& configuration, FieldErrors& errors) {
  const json& wait = configuration.at("waitForPodsReady");
  // Only v1beta1 can set 0s: v1beta2 treats it as "not set".
  if (wait.at("timeout") == "0s") errors.push_back(required("waitForPodsReady.timeout", "must be specified"));
  check_not_negative(wait, "waitForPodsReady", "timeout", errors);
  check_not_negative(wait, "waitForPodsReady", "recoveryTimeout", errors);
  check_not_negative(wait, "waitForPodsReady", "maxTimeoutOnWorkload", errors);
  const std::string path = "waitForPodsReady.requeuingStrategy";
  const json& strategy = wait.at("requeuingStrategy");
  const json& timestamp = strategy.at("timestamp");
  if (timestamp != "Creation" && timestamp != "Eviction") {
    errors.push_back(not_supported(path + ".timestamp", timestamp, {"Creation", "Eviction"}));
  }
  check_not_negative(strategy, path, "backoffLimitCount", errors);
  check_not_negative(strategy, path, "backoffBaseSeconds", errors);
  check_not_negative(strategy, path, "backoffMaxSeconds", errors);
}

// Also where waiting is off.
void validate_unscheduled_timeout(const json& configuration, const FeatureGates& gates, FieldErrors& errors) {
  const json* set = find_path(configuration, {"waitForPodsReady", "unscheduledTimeout"});
  if (set == nullptr) return;
  constexpr const char* kPath = "waitForPodsReady.unscheduledTimeout";
  if (!gates.enabled(Gate::kWaitForPodsReadyUnscheduledTimeout))
    errors.push_back(
        invalid_setting(kPath, *set, "requires the feature gate WaitForPodsReadyUnscheduledTimeout to be enabled"));
  const json& wait = configuration.at("waitForPodsReady");
  check_not_negative(wait, "waitForPodsReady", "unscheduledTimeout", errors);
  const Result<Duration> limit = parse_duration(set->get_ref<const std::string&>());
  const Result<Duration> timeout = parse_duration(wait.at("timeout").get_ref<const std::string&>());
  if (limit && timeout && *limit > *timeout)
    errors.push_back(invalid_setting(kPath, *set, "must be less than or equal to waitForPodsReady.timeout"));
}

bool wait_for_pods_ready_enabled(const Configuration& configuration) {
  const FeatureGates gates = resolve_feature_gates(configuration.feature_gates.value_or(FeatureGateMap{}));
  return configuration.effective.contains("waitForPodsReady") && !gates.enabled(Gate::kDisableWaitForPodsReady);
}

FieldErrors validate_configuration(const Configuration& configuration) {
  const json& effective = configuration.effective;
  const FeatureGates gates = resolve_feature_gates(configuration.feature_gates.value_or(FeatureGateMap{}));
  FieldErrors errors;
  if (wait_for_pods_ready_enabled(configuration)) validate_wait_for_pods_ready(effective, errors);
  validate_unscheduled_timeout(effective, gates, errors);
  validate_webhook(effective, errors);
  validate_integrations(effective, errors);
  validate_multikueue(effective, errors);
  validate_fair_sharing(effective, errors);
  validate_admission_fair_sharing(effective, errors);
  validate_cert_management(effective, errors);
  validate_resources(effective, gates, errors);
  validate_managed_namespaces(effective, errors);
  validate_retention(effective, errors);
  validate_tls(effective, errors);
  validate_visibility_server(effective, errors);
  validate_custom_labels(effective, errors);
  validate_local_queue_metrics(effective, gates, errors);
  std::sort(errors.begin(), errors.end(), [](const FieldError& a, const FieldError& b) { return a.text() < b.text(); });
  return errors;
}

}  // namespace muster
