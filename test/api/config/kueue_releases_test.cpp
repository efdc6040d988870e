// Configuration files of the releases of Kueue that a cluster can come from.
#include <doctest/doctest.h>

#include <algorithm>

#include "api/config/configuration.h"

namespace muster::kueue_releases_test {
namespace {

constexpr int kFirst = 15, kLast = 20;

// A gate with its default in the releases 0.<from> to 0.<to>.
struct ReleasedGate {
  const char* name;
  int from, to;
  bool value;
};
constexpr ReleasedGate kReleased[] = {
    {"AdmissionFairSharing", 15, 20, true},
    {"AdmissionGatedBy", 17, 18, false},
    {"AdmissionGatedBy", 19, 20, true},
    {"AssignQueueLabelsForPods", 17, 20, true},
    {"CleanupProvisioningRequestsOnEviction", 19, 20, true},
    {"ConcurrentAdmission", 18, 20, false},
    {"ConfigurableResourceTransformations", 15, 16, true},
    {"CustomMetricLabels", 17, 20, false},
    {"DRAExtendedResources", 17, 18, false},
    {"DeferRayServiceFinalizationForRedisCleanup", 19, 19, true},
    {"DeferRayServiceFinalizationForRedisCleanup", 20, 20, false},
    {"DisableWaitForPodsReady", 19, 20, false},
    {"DynamicResourceAllocation", 15, 18, false},
    {"ElasticJobsViaWorkloadSlices", 15, 17, false},
    {"ElasticJobsViaWorkloadSlices", 18, 20, true},
    {"ElasticJobsViaWorkloadSlicesWithTAS", 17, 20, false},
    {"FailureRecoveryPolicy", 15, 20, false},
    {"FairSharingPreemptWithinNominal", 17, 20, true},
    {"FairSharingPrioritizeNonBorrowing", 17, 20, true},
    {"FastQuotaReleaseInPodIntegration", 17, 20, false},
    {"FinishOrphanedWorkloads", 18, 20, true},
    {"FlavorFungibility", 15, 20, true},
    {"FlavorFungibilityImplicitPreferenceDefault", 15, 16, false},
    {"HierarchicalCohorts", 15, 19, true},
    {"KueueDRAIntegration", 18, 20, true},
    {"KueueDRAIntegrationConsumableCapacity", 19, 20, false},
    {"KueueDRAIntegrationExtendedResource", 18, 18, false},
    {"KueueDRAIntegrationExtendedResource", 19, 20, true},
    {"KueueDRAIntegrationPartitionableDevices", 18, 18, false},
    {"KueueDRAIntegrationPartitionableDevices", 19, 20, true},
    {"KueueDRARejectWorkloadsWhenDRADisabled", 18, 20, true},
    {"LWSImmutableGroupSize", 20, 20, true},
    {"LendingLimit", 15, 18, true},
    {"LocalQueueDefaulting", 15, 18, true},
    {"LocalQueueMetrics", 15, 16, false},
    {"LocalQueueMetrics", 17, 20, true},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", 15, 20, true},
    {"MetricForWorkloadCreationLatency", 18, 20, true},
    {"MetricsForCohorts", 18, 20, true},
    {"MultiKueue", 15, 20, true},
    {"MultiKueueAdaptersForCustomJobs", 15, 20, true},
    {"MultiKueueAllowInsecureKubeconfigs", 15, 19, false},
    {"MultiKueueBatchJobWithManagedBy", 15, 18, true},
    {"MultiKueueClusterProfile", 15, 20, false},
    {"MultiKueueIncrementalDispatcherConfig", 19, 20, true},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", 19, 20, true},
    {"MultiKueueKubeConfigPathValidation", 19, 19, false},
    {"MultiKueueKubeConfigPathValidation", 20, 20, true},
    {"MultiKueueManagerQuotaAutomation", 18, 20, false},
    {"MultiKueueOrchestratedPreemption", 17, 19, false},
    {"MultiKueueOrchestratedPreemption", 20, 20, true},
    {"MultiKueueRedoAdmissionOnEvictionInWorker", 16, 19, true},
    {"MultiKueueWaitForWorkloadAdmitted", 16, 19, true},
    {"ObjectRetentionPolicies", 15, 19, true},
    {"PartialAdmission", 15, 20, true},
    {"PriorityBoost", 17, 20, false},
    {"PrioritySortingWithinCohort", 15, 20, true},
    {"PropagateBatchJobLabelsToWorkload", 15, 19, true},
    {"QuotaCheckStrategy", 18, 18, false},
    {"QuotaCheckStrategy", 19, 20, true},
    {"ReclaimablePods", 15, 20, true},
    {"RejectUpdatesToCQWithInvalidOnFlavors", 18, 19, false},
    {"RejectUpdatesToCQWithInvalidOnFlavors", 20, 20, true},
    {"RemoveFinalizersWithStrictPatch", 17, 20, true},
    {"SanitizePodSets", 15, 18, true},
    {"SchedulerLibraryIntegration", 19, 20, false},
    {"SchedulerLongRequeueInterval", 17, 19, false},
    {"SchedulerTimestampPreemptionBuffer", 17, 19, false},
    {"SchedulingEquivalenceHashing", 17, 17, false},
    {"SchedulingEquivalenceHashing", 18, 20, true},
    {"ShortWorkloadNames", 17, 20, false},
    {"SkipFinalizersForPodsSuspendedByParent", 16, 19, true},
    {"SkipReassignmentForPodOwnedWorkloads", 19, 20, true},
    {"SparkApplicationIntegration", 17, 20, false},
    {"TASAssignmentsEncodingByHostnamePrefix", 19, 20, true},
    {"TASBalancedPlacement", 15, 20, false},
    {"TASCacheNodeMatchResults", 19, 20, true},
    {"TASCachingRemainingResources", 19, 20, true},
    {"TASFailedNodeReplacement", 15, 20, true},
    {"TASFailedNodeReplacementFailFast", 15, 20, true},
    {"TASHandleOverlappingFlavors", 18, 20, true},
    {"TASMultiLayerTopology", 17, 18, false},
    {"TASMultiLayerTopology", 19, 20, true},
    {"TASProfileLeastFreeCapacity", 15, 16, false},
    {"TASProfileMixed", 15, 20, true},
    {"TASRecomputeAssignmentWithinSchedulingCycle", 19, 20, true},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", 17, 18, true},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", 19, 20, false},
    {"TASReplaceNodeOnNodeTaints", 17, 20, true},
    {"TASReplaceNodeOnPodTermination", 15, 20, true},
    {"TASRespectNodeAffinityPreferred", 18, 20, false},
    {"TASValidateWorkloadSliceSize", 20, 20, true},
    {"TLSOptions", 16, 20, true},
    {"TopologyAwareScheduling", 15, 20, true},
    {"UnadmittedWorkloadsExplicitStatus", 19, 20, false},
    {"UnadmittedWorkloadsObservability", 19, 20, true},
    {"VectorizedResourceRequests", 19, 20, true},
    {"VisibilityOnDemand", 15, 20, true},
    {"WorkloadIdentifierAnnotations", 18, 20, true},
    {"WorkloadPriorityClassDefaulting", 18, 19, false},
    {"WorkloadPriorityClassDefaulting", 20, 20, true},
    {"WorkloadRequestUseMergePatch", 15, 20, false},
    {"WorkloadValidateResourcesAreNonNegative", 20, 20, true},
    {"WorkloadValidationForPodSetMetadata", 20, 20, true},
};

std::string file(const std::string& gates, const std::string& rest = "") {
  return "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + rest + "featureGates:\n" + gates;
}

std::string line(std::string_view gate, bool value) {
  return "  " + std::string(gate) + ": " + (value ? "true" : "false") + "\n";
}

struct Started {
  Configuration configuration;
  std::vector<std::string> errors;
};
// As `muster serve` reads it.
Started start(const std::string& yaml) {
  auto loaded = load_configuration(yaml);
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().text()));
  Started started{std::move(loaded->kueue), {}};
  FieldErrors errors = apply_feature_gates(started.configuration, "");
  append(errors, validate_configuration(started.configuration));
  for (const FieldError& error : errors) started.errors.push_back(error.text());
  return started;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a file that names every gate of a release with its default starts muster") {
  for (int release = kFirst; release <= kLast; ++release) {
    INFO("Kueue 0." << release);
    std::string gates;
    for (const ReleasedGate& gate : kReleased) {
      if (gate.from <= release && release <= gate.to) gates += line(gate.name, gate.value);
    }
    const Started started = start(file(gates));
    CHECK(started.errors == Texts{});
    // Renamed gates are reported; a default that no release has changed is not.
    const Texts told = outdated_gates(*started.configuration.feature_gates);
    CHECK(told.size() == (release < 17 ? 1 : release < 19 ? 2 : 0));
  }
}

TEST_CASE("a file of Kueue 0.20 can name every gate of 0.20 with its default") {
  std::string gates;
  for (const FeatureGate& gate : known_feature_gates()) {
    if (gate.past.last == 0) gates += line(gate.name, gate.default_enabled);
  }
  const Started started = start(file(gates));
  CHECK(started.errors == Texts{});
  CHECK(outdated_gates(*started.configuration.feature_gates).empty());
}

TEST_CASE("a file of Kueue 0.17 with ten gates starts and each value without effect is one sentence") {
  const Started started = start(file(
      "  ElasticJobsViaWorkloadSlices: true\n  LendingLimit: true\n  LocalQueueDefaulting: true\n"
      "  DynamicResourceAllocation: false\n  HierarchicalCohorts: false\n  SchedulerTimestampPreemptionBuffer: true\n"
      "  MultiKueueAllowInsecureKubeconfigs: true\n  TLSOptions: false\n  PriorityBoost: true\n  "
      "TASMultiLayerTopology: true\n",
      "waitForPodsReady: {timeout: 5m}\nintegrations: {frameworks: [batch/job, pod]}\n"));
  CHECK(started.errors == Texts{});
  CHECK(
      outdated_gates(*started.configuration.feature_gates) ==
      Texts{"featureGates.DynamicResourceAllocation: false is read as KueueDRAIntegration, the name of this gate after "
            "Kueue 0.18; muster does not act on it",
            "featureGates.HierarchicalCohorts: false has no effect: Kueue 0.19 is the last release with this gate, and "
            "later ones behave as with true",
            "featureGates.MultiKueueAllowInsecureKubeconfigs: true has no effect: Kueue 0.19 is the last release with "
            "this gate, and later ones behave as with false",
            "featureGates.SchedulerTimestampPreemptionBuffer: true has no effect: Kueue 0.19 is the last release with "
            "this gate, and later ones behave as with false; LowerOrNewerEqualPriority can preempt every Workload that "
            "was queued later",
            "featureGates.TLSOptions: false has no effect: the gate is locked since Kueue 0.20, which behaves as with "
            "true"});
  // Nothing is reported twice.
  CHECK(not_acting_yet(started.configuration) == Texts{"featureGates.PriorityBoost"});
}

TEST_CASE("values that a release has taken start muster") {
  const char* files[] = {
      // 0.15; the gates of topology-aware scheduling that came later follow it.
      "  TopologyAwareScheduling: false\n  TASProfileMixed: false\n",
      "  FlavorFungibility: false\n",
      "  LocalQueueDefaulting: false\n  LendingLimit: false\n  SanitizePodSets: false\n",
      // 0.18
      "  ManagedJobsNamespaceSelectorAlwaysRespected: false\n",
      "  MultiKueue: false\n  SchedulingEquivalenceHashing: false\n",
      // 0.19
      "  AdmissionFairSharing: false\n  TLSOptions: false\n  KueueDRAIntegration: false\n",
      // AllAlpha reaches gates that exclude each other.
      "  AllAlpha: true\n",
      "  AllBeta: false\n",
  };
  for (const char* gates : files) {
    INFO(gates);
    CHECK(start(file(gates)).errors == Texts{});
  }
}

TEST_CASE("a renamed gate has the effect of its present name, which wins where both are named") {
  CHECK_FALSE(resolve_feature_gates({{"DynamicResourceAllocation", false}}).enabled(Gate::kKueueDRAIntegration));
  const FeatureGates both =
      resolve_feature_gates({{"DynamicResourceAllocation", true}, {"KueueDRAIntegration", false}});
  CHECK_FALSE(both.enabled(Gate::kKueueDRAIntegration));
  CHECK_FALSE(both.enabled(Gate::kDynamicResourceAllocation));
}

TEST_CASE("an unnamed gate follows the gates that it needs, over more than one step") {
  const FeatureGates resolved =
      resolve_feature_gates({{"AllAlpha", true}, {"KueueDRAIntegration", false}, {"ConcurrentAdmission", false}});
  for (const Gate gate : {Gate::kKueueDRAIntegrationExtendedResource, Gate::kKueueDRADeviceFeasibility,
                          Gate::kKueueDRAIntegrationDeviceTaints}) {
    INFO(feature_gate(gate).name);
    CHECK_FALSE(resolved.enabled(gate));
  }
  CHECK(resolved.enabled(Gate::kPriorityBoost));
}

TEST_CASE("what no release has taken is an error") {
  struct Row {
    const char* gates;
    Texts errors;
  };
  const std::string invalid = "featureGates: Invalid value: ";
  const Row rows[] = {
      {"  ConfigurableResourceTransformations: false\n",
       {invalid + "{\"ConfigurableResourceTransformations\":false}: cannot set feature gate "
                  "ConfigurableResourceTransformations to false, feature is locked to true"}},
      {"  FlavorFungibility: false\n  FlavorFungibilityPreserveScanProgress: true\n",
       {invalid + "\"FlavorFungibilityPreserveScanProgress\": FlavorFungibilityPreserveScanProgress requires "
                  "FlavorFungibility to be enabled"}},
      {"  DynamicResourceAllocation: false\n  KueueDRAIntegrationPrioritizedList: true\n",
       {invalid + "\"KueueDRAIntegrationPrioritizedList\": KueueDRAIntegrationPrioritizedList requires "
                  "KueueDRAIntegration to be enabled"}},
      {"  WaitForPodsReadyUnscheduledTimeout: true\n  DisableWaitForPodsReady: true\n",
       {invalid +
        "\"WaitForPodsReadyUnscheduledTimeout\": WaitForPodsReadyUnscheduledTimeout cannot be enabled together "
        "with DisableWaitForPodsReady"}},
      {"  TopologyAwareScheduling: false\n", {invalid + "1: cannot use a TAS profile with TAS disabled"}},
  };
  for (const Row& row : rows) {
    INFO(row.gates);
    CHECK(start(file(row.gates)).errors == row.errors);
  }
}

TEST_CASE("the unscheduled timeout needs its gate and is at most the timeout") {
  const std::string gate = "featureGates: {WaitForPodsReadyUnscheduledTimeout: true}\n";
  const std::string path = "waitForPodsReady.unscheduledTimeout: Invalid value: ";
  struct Row {
    std::string rest;
    Texts errors;
  };
  const Row rows[] = {
      {gate + "waitForPodsReady: {timeout: 5m, unscheduledTimeout: 5m}\n", {}},
      {gate + "waitForPodsReady: {unscheduledTimeout: 0s, maxTimeoutOnWorkload: 2h}\n", {}},
      {gate + "waitForPodsReady: {timeout: 5m, unscheduledTimeout: 5m1s}\n",
       {path + "\"5m1s\": must be less than or equal to waitForPodsReady.timeout"}},
      {gate + "waitForPodsReady: {unscheduledTimeout: -1s}\n", {path + "\"-1s\": must be greater than or equal to 0"}},
      {"waitForPodsReady: {unscheduledTimeout: 0s}\n",
       {path + "\"0s\": requires the feature gate WaitForPodsReadyUnscheduledTimeout to be enabled"}},
      // Also where readiness is not waited for.
      {"featureGates: {DisableWaitForPodsReady: true}\nwaitForPodsReady: {unscheduledTimeout: 1m}\n",
       {path + "\"1m0s\": requires the feature gate WaitForPodsReadyUnscheduledTimeout to be enabled"}},
      {"waitForPodsReady: {maxTimeoutOnWorkload: -1s}\n",
       {"waitForPodsReady.maxTimeoutOnWorkload: Invalid value: \"-1s\": must be greater than or equal to 0"}},
  };
  for (const Row& row : rows) {
    INFO(row.rest);
    CHECK(start("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + row.rest).errors == row.errors);
  }
  const Started started = start("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + gate +
                                "waitForPodsReady: {unscheduledTimeout: 1m, maxTimeoutOnWorkload: 2h}\n");
  CHECK(not_acting_yet(started.configuration) ==
        Texts{"waitForPodsReady.maxTimeoutOnWorkload", "waitForPodsReady.unscheduledTimeout"});
}

}  // namespace muster::kueue_releases_test
