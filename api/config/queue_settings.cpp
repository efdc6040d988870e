#include "api/config/queue_settings.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/configuration.h"
#include "api/meta/time.h"
#include "api/pod_spec.h"

namespace muster {
namespace {

using nlohmann::json;

std::optional<Duration> optional_duration_at(const json& object, std::string_view key) {
  const auto duration = parse_duration(string_at(object, {key}));
  return duration ? std::optional(*duration) : std::nullopt;
}

RequeuingStrategy own_part(const MusterConfiguration& muster) {
  RequeuingStrategy strategy;
  strategy.backoff_limit_timeout = muster.backoff_limit_timeout;
  strategy.backoff_jitter = muster.backoff_jitter;
  return strategy;
}

RequeuingStrategy read_requeuing(const json& object, RequeuingStrategy strategy) {
  if (string_at(object, {"timestamp"}) == "Creation") strategy.timestamp = RequeuingStrategy::Timestamp::kCreation;
  if (int_at(object, {"backoffLimitCount"})) strategy.backoff_limit_count = int32_at(object, {"backoffLimitCount"});
  strategy.backoff_base_seconds = int32_at(object, {"backoffBaseSeconds"}, strategy.backoff_base_seconds);
  strategy.backoff_max_seconds = int32_at(object, {"backoffMaxSeconds"}, strategy.backoff_max_seconds);
  return strategy;
}

WaitForPodsReady read_wait(const json& object, const MusterConfiguration& muster) {
  WaitForPodsReady wait;
  wait.timeout = optional_duration_at(object, "timeout").value_or(wait.timeout);
  // In a file, "0s" means no limit.
  wait.recovery_timeout = optional_duration_at(object, "recoveryTimeout");
  if (wait.recovery_timeout == Duration::zero()) wait.recovery_timeout.reset();
  wait.block_admission = bool_at(object, {"blockAdmission"});
  wait.requeuing = read_requeuing(object_at(object, {"requeuingStrategy"}), own_part(muster));
  return wait;
}

std::vector<ResourceTransformation> read_transformations(const json& list) {
  std::vector<ResourceTransformation> transformations;
  for (const json& item : list) {
    transformations.push_back({.input = std::string(string_at(item, {"input"})),
                               .retain = string_at(item, {"strategy"}) != "Replace",
                               .multiply_by = std::string(string_at(item, {"multiplyBy"})),
                               .outputs = read_resource_list(object_at(item, {"outputs"}))});
  }
  return transformations;
}

std::vector<FairStrategy> read_strategies(const json& effective) {
  std::vector<FairStrategy> strategies;
  for (const std::string& name : strings_at(effective, {"fairSharing", "preemptionStrategies"})) {
    strategies.push_back(name == "LessThanInitialShare" ? FairStrategy::kLessThanInitialShare
                                                        : FairStrategy::kLessThanOrEqualToFinalShare);
  }
  return strategies;
}

QueueMetricsSettings read_metrics(const json& object) {
  QueueMetricsSettings metrics;
  metrics.cluster_queue_resources = bool_at(object, {"enableClusterQueueResources"});
  metrics.local_queues = bool_at(object, {"localQueueMetrics", "enable"});
  const json* selector = find_path(object, {"localQueueMetrics", "localQueueSelector"});
  if (selector == nullptr) return metrics;
  // A selector that cannot be read matches no object; the validation reports its error.
  const auto parsed = LabelSelector::parse(*selector);
  metrics.local_queue_selector = parsed ? *parsed : LabelSelector();
  return metrics;
}

}  // namespace

QueueSettings make_queue_settings(const Configuration& configuration, const MusterConfiguration& muster,
                                  RuleSettings rules) {
  const json& effective = configuration.effective;
  QueueSettings settings;
  settings.rules = std::move(rules);
  settings.label_keys_to_copy = strings_at(effective, {"integrations", "labelKeysToCopy"});
  if (wait_for_pods_ready_enabled(configuration))
    settings.wait_for_pods_ready = read_wait(object_at(effective, {"waitForPodsReady"}), muster);
  settings.late_gang_requeuing = own_part(muster);
  settings.exclude_resource_prefixes = strings_at(effective, {"resources", "excludeResourcePrefixes"});
  settings.transformations = read_transformations(array_at(effective, {"resources", "transformations"}));
  settings.ignore_undeclared_resources =
      settings.rules.enabled(Gate::kQuotaCheckStrategy) &&
      string_at(effective, {"resources", "quotaCheckStrategy"}) == "IgnoreUndeclared";
  const json& retention = object_at(effective, {"objectRetentionPolicies", "workloads"});
  settings.retain_finished = optional_duration_at(retention, "afterFinished");
  settings.retain_deactivated = optional_duration_at(retention, "afterDeactivatedByKueue");
  settings.fair_sharing = read_strategies(effective);
  settings.watch_nodes = muster.watch_nodes;
  settings.metrics = read_metrics(object_at(effective, {"metrics"}));
  return settings;
}

}  // namespace muster
