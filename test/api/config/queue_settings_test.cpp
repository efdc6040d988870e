#include "api/config/queue_settings.h"

#include <doctest/doctest.h>

#include <string>

#include "api/config/configuration.h"

namespace queue_settings_test {

using namespace muster;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

QueueSettings settings_of(const std::string& version, const std::string& rest) {
  const auto loaded =
      load_configuration("apiVersion: config.kueue.x-k8s.io/" + version + "\nkind: Configuration\n" + rest);
  REQUIRE(loaded.ok());
  return make_queue_settings(loaded->kueue, loaded->muster, {});
}

}  // namespace

TEST_CASE("queue settings: every field of the configuration arrives") {
  const QueueSettings settings = settings_of("v1beta2", R"(
integrations: {labelKeysToCopy: [team, cost]}
waitForPodsReady:
  timeout: 7m
  recoveryTimeout: 3m
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 4, backoffBaseSeconds: 5, backoffMaxSeconds: 50}
resources:
  excludeResourcePrefixes: [net.example/]
  transformations:
  - {input: example.com/gpu, strategy: Replace, multiplyBy: cpu, outputs: {example.com/credits: 2}}
  - {input: memory, outputs: {example.com/credits: 1}}
)");
  CHECK(settings.label_keys_to_copy == std::vector<std::string>{"team", "cost"});
  REQUIRE(settings.wait_for_pods_ready.has_value());
  const WaitForPodsReady& wait = *settings.wait_for_pods_ready;
  CHECK(wait.timeout == minutes(7));
  CHECK(wait.recovery_timeout == Duration(minutes(3)));
  CHECK(wait.block_admission);
  CHECK(wait.requeuing.timestamp == RequeuingStrategy::Timestamp::kCreation);
  CHECK(wait.requeuing.backoff_limit_count == 4);
  CHECK(wait.requeuing.backoff_base_seconds == 5);
  CHECK(wait.requeuing.backoff_max_seconds == 50);
  CHECK(settings.exclude_resource_prefixes == std::vector<std::string>{"net.example/"});
  REQUIRE(settings.transformations.size() == 2);
  CHECK(settings.transformations[0].input == "example.com/gpu");
  CHECK_FALSE(settings.transformations[0].retain);
  CHECK(settings.transformations[0].multiply_by == "cpu");
  CHECK(settings.transformations[0].outputs.at("example.com/credits").text() == "2");
  CHECK(settings.transformations[1].retain);
}

TEST_CASE("queue settings: what the scheduler and retention read arrives") {
  const QueueSettings plain = settings_of("v1beta2", "");
  CHECK_FALSE(plain.ignore_undeclared_resources);
  CHECK(plain.fair_sharing.empty());
  CHECK_FALSE(plain.retain_finished.has_value());
  const QueueSettings settings = settings_of("v1beta2", R"(
resources: {quotaCheckStrategy: IgnoreUndeclared}
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 90s}}
)");
  CHECK(settings.ignore_undeclared_resources);
  CHECK(settings.fair_sharing ==
        std::vector<FairStrategy>{FairStrategy::kLessThanOrEqualToFinalShare, FairStrategy::kLessThanInitialShare});
  CHECK(settings.retain_finished == Duration(minutes(60)));
  CHECK_FALSE(plain.retain_deactivated.has_value());
  CHECK(settings.retain_deactivated == Duration(seconds(90)));
  const std::string fair = "fairSharing: {enable: true, preemptionStrategies: [LessThanInitialShare]}";
  CHECK(settings_of("v1beta1", fair).fair_sharing == std::vector<FairStrategy>{FairStrategy::kLessThanInitialShare});
  CHECK(settings_of("v1beta1", "fairSharing: {enable: false}").fair_sharing.empty());
}

TEST_CASE("queue settings: what metrics show arrives") {
  const QueueMetricsSettings plain = settings_of("v1beta2", "").metrics;
  CHECK_FALSE(plain.cluster_queue_resources);
  CHECK(plain.local_queues);
  CHECK(plain.local_queue_selector.matches({{"any", "label"}}));
  CHECK(settings_of("v1beta1", "").metrics.local_queues);
  const QueueMetricsSettings chosen = settings_of("v1beta2", R"(
metrics:
  enableClusterQueueResources: true
  localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {team: a}}}
)")
                                          .metrics;
  CHECK(chosen.cluster_queue_resources);
  CHECK(chosen.local_queues);
  CHECK(chosen.local_queue_selector.matches({{"team", "a"}}));
  CHECK_FALSE(chosen.local_queue_selector.matches({{"team", "b"}}));
  // A block that does not say so does not enable them.
  CHECK_FALSE(settings_of("v1beta2", "metrics: {localQueueMetrics: {}}").metrics.local_queues);
}

TEST_CASE("queue settings: waiting for ready pods has the defaults of the file's version") {
  struct Row {
    const char* name;
    const char* version;
    const char* rest;
    bool on;
    Duration timeout;
    std::optional<Duration> recovery;
    bool block;
  };
  const Row rows[] = {
      {"v1beta2 is on without a word", "v1beta2", "", true, minutes(30), minutes(30), false},
      {"v1beta2 recovers within the timeout that is set", "v1beta2", "waitForPodsReady: {timeout: 2m}", true,
       minutes(2), minutes(2), false},
      {"v1beta2 has no recovery limit with 0s", "v1beta2", "waitForPodsReady: {recoveryTimeout: 0s}", true, minutes(30),
       std::nullopt, false},
      {"v1beta2 is off by a gate", "v1beta2", "featureGates: {DisableWaitForPodsReady: true}", false, {}, {}, false},
      {"v1beta1 is off without a word", "v1beta1", "", false, {}, {}, false},
      {"v1beta1 blocks when it is on", "v1beta1", "waitForPodsReady: {enable: true}", true, minutes(5), std::nullopt,
       true},
      {"v1beta1 with a recovery limit", "v1beta1", "waitForPodsReady: {enable: true, recoveryTimeout: 90s}", true,
       minutes(5), seconds(90), true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto wait = settings_of(row.version, row.rest).wait_for_pods_ready;
    REQUIRE(wait.has_value() == row.on);
    if (!wait) continue;
    CHECK(wait->timeout == row.timeout);
    CHECK(wait->recovery_timeout == row.recovery);
    CHECK(wait->block_admission == row.block);
  }
  CHECK_FALSE(make_queue_settings(default_configuration().kueue, {}, {}).wait_for_pods_ready.has_value());
}

TEST_CASE("queue settings: muster's own part of the backoff arrives with and without a wait for pods") {
  const std::string own =
      "---\napiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\n"
      "backoffLimitTimeout: 2h\nbackoffJitter: 0.5\n";
  const QueueSettings waiting = settings_of("v1beta2", "waitForPodsReady: {timeout: 1m}\n" + own);
  const QueueSettings plain = settings_of("v1beta1", own);
  REQUIRE(waiting.wait_for_pods_ready.has_value());
  REQUIRE_FALSE(plain.wait_for_pods_ready.has_value());
  for (const RequeuingStrategy& strategy : {waiting.wait_for_pods_ready->requeuing, plain.late_gang_requeuing}) {
    CHECK(strategy.backoff_limit_timeout == Duration(minutes(120)));
    CHECK(strategy.backoff_jitter == 0.5);
  }
}

TEST_CASE("queue settings: the rules are handed on") {
  RuleSettings rules;
  rules.manage_jobs_without_queue_name = true;
  CHECK(make_queue_settings(default_configuration().kueue, {}, rules).rules.manage_jobs_without_queue_name);
}

}  // namespace queue_settings_test
