// The part of the configuration that the queues act on: made from the Configuration
// file and flags (api/config/configuration.h), immutable while serving.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/config/rule_settings.h"
#include "api/requests.h"
#include "base/clock.h"

namespace muster {

// waitForPodsReady.requeuingStrategy.
struct RequeuingStrategy {
  // What decides the place of an evicted Workload in its queue.
  enum class Timestamp { kEviction, kCreation };

  Timestamp timestamp = Timestamp::kEviction;
  std::optional<int32_t> backoff_limit_count{};  // nullopt: no limit
  // muster's own: no more tries this long after the first admission. nullopt: no limit.
  std::optional<Duration> backoff_limit_timeout{};
  int32_t backoff_base_seconds = 60;   // 0: no delay
  int32_t backoff_max_seconds = 3600;  // 0: no cap
  // muster's own: how far a delay can be stretched, as a share of it.
  double backoff_jitter = 0.1;
};

struct WaitForPodsReady {
  Duration timeout = std::chrono::minutes(5);
  std::optional<Duration> recovery_timeout{};  // nullopt: none
  bool block_admission = false;
  RequeuingStrategy requeuing{};
};

// resources.transformations: what one unit of `input` counts as.
struct ResourceTransformation {
  std::string input;
  bool retain = true;       // keep the input beside the outputs
  std::string multiply_by;  // a resource whose amount multiplies the outputs; empty: none
  ResourceList outputs;
};

// Up to which share of its cohort a preemptor can take quota from others.
enum class FairStrategy { kLessThanOrEqualToFinalShare, kLessThanInitialShare };

// metrics.
struct QueueMetricsSettings {
  bool cluster_queue_resources = false;  // enableClusterQueueResources
  bool local_queues = true;              // localQueueMetrics.enable
  LabelSelector local_queue_selector = LabelSelector::everything();
};

struct QueueSettings {
  // Which jobs are queued, and feature gates.
  RuleSettings rules{};
  // integrations.labelKeysToCopy: labels that a Workload takes over from its job.
  std::vector<std::string> label_keys_to_copy{};
  std::optional<WaitForPodsReady> wait_for_pods_ready{};  // nullopt: off
  // Of queued gangs that do not come together in time, where waitForPodsReady is off.
  RequeuingStrategy late_gang_requeuing{};
  // resources.excludeResourcePrefixes: not counted.
  std::vector<std::string> exclude_resource_prefixes{};
  std::vector<ResourceTransformation> transformations{};
  // resources.quotaCheckStrategy IgnoreUndeclared: resources that a ClusterQueue does not
  // cover are not counted; otherwise they keep a Workload out.
  bool ignore_undeclared_resources = false;
  // fairSharing.preemptionStrategies, in the order in which they are tried; empty: off.
  std::vector<FairStrategy> fair_sharing{};
  // objectRetentionPolicies.workloads: how long finished Workloads, and jobs that muster has deactivated, are kept.
  // nullopt: forever.
  std::optional<Duration> retain_finished{};
  std::optional<Duration> retain_deactivated{};
  QueueMetricsSettings metrics{};
  // muster's own: nodes and the pods on them are known, for flavors that count them (muster.batch/fit-on-nodes).
  bool watch_nodes = false;
};

}  // namespace muster
