#include "api/config/feature_gates.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "api/codec/go_strconv.h"
#include "api/meta/names.h"

namespace muster {

namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";
constexpr std::string_view kField = "featureGates";
// Of workload-aware scheduling (JobSet KEP-969), which needs kinds of Kubernetes 1.37: they can be off only.
constexpr std::string_view kJobSetSchedulingGate = "JobSetWorkloadAwareSchedulingAPI";
constexpr std::string_view kJobSetGangOfGangsGate = "JobSetGangOfGangs";

using enum GateUse;

constexpr FeatureGate kGates[] = {
    {"AdmissionFairSharing", true, GateStage::kBeta},
    {"AdmissionGatedBy", true, GateStage::kBeta, kActs},
    {"AssignQueueLabelsForPods", true, GateStage::kBeta, kActs},
    {"CleanupProvisioningRequestsOnEviction", true, GateStage::kBeta},
    {"ConcurrentAdmission", false, GateStage::kAlpha},
    {"CustomMetricLabels", false, GateStage::kAlpha},
    {"DeferRayServiceFinalizationForRedisCleanup", true, GateStage::kBeta, kActs},
    {"DisableWaitForPodsReady", false, GateStage::kAlpha, kActs},
    {"ElasticJobsViaWorkloadSlices", true, GateStage::kBeta, kValidates},
    {"ElasticJobsViaWorkloadSlicesWithTAS", false, GateStage::kAlpha},
    {"FailureRecoveryPolicy", false, GateStage::kAlpha},
    {"FairSharingPreemptWithinNominal", true, GateStage::kBeta},
    {"FairSharingPrioritizeNonBorrowing", true, GateStage::kBeta},
    {"FastQuotaReleaseInPodIntegration", false, GateStage::kAlpha, kActs},
    {"FinishOrphanedWorkloads", true, GateStage::kBeta},
    {"FlavorFungibility", true, GateStage::kBeta},
    {"FlavorFungibilityPreserveScanProgress", true, GateStage::kBeta},
    {"KueueDRAIntegration", true, GateStage::kBeta},
    {"KueueDRAIntegrationConsumableCapacity", false, GateStage::kAlpha, kValidates},
    {"KueueDRAIntegrationExtendedResource", true, GateStage::kBeta},
    {"KueueDRAIntegrationPartitionableDevices", true, GateStage::kBeta, kValidates},
    {"KueueDRARejectWorkloadsWhenDRADisabled", true, GateStage::kBeta, kActs},
    {"LWSImmutableGroupSize", true, GateStage::kBeta},
    {"LocalQueueMetrics", true, GateStage::kBeta, kActs},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", true, GateStage::kStable},
    {"MetricForWorkloadCreationLatency", true, GateStage::kBeta},
    {"MetricsForCohorts", true, GateStage::kBeta, kActs},
    {"MultiKueue", true, GateStage::kBeta, kValidates},
    {"MultiKueueAdaptersForCustomJobs", true, GateStage::kBeta},
    {"MultiKueueClusterProfile", false, GateStage::kAlpha},
    {"MultiKueueIncrementalDispatcherConfig", true, GateStage::kBeta},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder", true, GateStage::kBeta},
    {"MultiKueueKubeConfigPathValidation", true, GateStage::kBeta},
    {"MultiKueueManagerQuotaAutomation", false, GateStage::kAlpha},
    {"MultiKueueOrchestratedPreemption", false, GateStage::kAlpha},
    {"MultiKueueRemoteSpecSync", true, GateStage::kBeta},
    {"PartialAdmission", true, GateStage::kBeta, kActs},
    {"PodIntegrationValidateGroupOwner", true, GateStage::kBeta},
    {"PrioritizePreemptorWorkloads", false, GateStage::kAlpha},
    {"PriorityBoost", false, GateStage::kAlpha},
    {"PrioritySortingWithinCohort", true, GateStage::kBeta},
    {"QuotaCheckStrategy", true, GateStage::kBeta, kActs},
    {"ReclaimablePods", true, GateStage::kBeta, kActs},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", true, GateStage::kBeta},
    {"RejectUpdatesToCQWithInvalidOnFlavors", false, GateStage::kAlpha, kActs},
    {"RemoveFinalizersWithStrictPatch", true, GateStage::kBeta},
    {"SchedulerLibraryIntegration", false, GateStage::kAlpha},
    {"SchedulingEquivalenceHashing", true, GateStage::kBeta},
    {"ShortWorkloadNames", false, GateStage::kAlpha, kActs},
    {"SkipAncestorCheckForDeletedWorkloads", true, GateStage::kBeta, kActs},
    {"SkipReassignmentForPodOwnedWorkloads", true, GateStage::kBeta},
    {"SparkApplicationIntegration", false, GateStage::kAlpha},
    {"TASAssignmentsEncodingByHostnamePrefix", true, GateStage::kBeta},
    {"TASBalancedPlacement", false, GateStage::kAlpha},
    {"TASCacheNodeMatchResults", true, GateStage::kBeta},
    {"TASCacheTopologyTree", true, GateStage::kBeta},
    {"TASCachingRemainingResources", true, GateStage::kBeta},
    {"TASFailedNodeReplacement", true, GateStage::kBeta},
    {"TASFailedNodeReplacementFailFast", true, GateStage::kBeta},
    {"TASHandleOverlappingFlavors", true, GateStage::kBeta},
    {"TASMultiLayerTopology", true, GateStage::kBeta, kValidates},
    {"TASProfileMixed", true, GateStage::kBeta},
    {"TASRecomputeAssignmentWithinSchedulingCycle", true, GateStage::kBeta},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", false, GateStage::kDeprecated},
    {"TASReplaceNodeOnNodeTaints", true, GateStage::kBeta},
    {"TASReplaceNodeOnPodTermination", true, GateStage::kBeta},
    {"TASRespectNodeAffinityPreferred", false, GateStage::kAlpha},
    {"TASValidateWorkloadSliceSize", true, GateStage::kBeta},
    {"TLSOptions", true, GateStage::kStable},
    {"TopologyAwareScheduling", true, GateStage::kBeta, kValidates},
    {"UnadmittedWorkloadsExplicitStatus", false, GateStage::kBeta, kActs},
    {"UnadmittedWorkloadsObservability", true, GateStage::kBeta, kActs},
    {"ValidateRayAndSparkJobUpdates", true, GateStage::kBeta, kActs},
    {"VectorizedResourceRequests", true, GateStage::kBeta},
    {"VisibilityOnDemand", true, GateStage::kBeta, kActs},
    {"WorkloadIdentifierAnnotations", true, GateStage::kBeta, kActs},
    {"WorkloadPriorityClassDefaulting", true, GateStage::kBeta, kActs},
    {"WorkloadRequestUseMergePatch", false, GateStage::kAlpha},
    {"WorkloadValidateResourcesAreNonNegative", true, GateStage::kBeta},
    {"WorkloadValidationForPodSetMetadata", true, GateStage::kBeta},
};

// A gate and its prerequisite; without the prerequisite the gate has no effect.
struct Dependency {
  std::string_view gate, needs;
};
constexpr Dependency kDependencies[] = {
    {"ElasticJobsViaWorkloadSlicesWithTAS", "ElasticJobsViaWorkloadSlices"},
    {"ElasticJobsViaWorkloadSlicesWithTAS", "TopologyAwareScheduling"},
    {"KueueDRAIntegrationConsumableCapacity", "KueueDRAIntegration"},
    {"KueueDRAIntegrationExtendedResource", "KueueDRAIntegration"},
    {"KueueDRAIntegrationPartitionableDevices", "KueueDRAIntegration"},
    {"TASBalancedPlacement", "TopologyAwareScheduling"},
    {"TASFailedNodeReplacement", "TopologyAwareScheduling"},
    {"TASFailedNodeReplacementFailFast", "TASFailedNodeReplacement"},
    {"TASFailedNodeReplacementFailFast", "TopologyAwareScheduling"},
    {"TASHandleOverlappingFlavors", "TopologyAwareScheduling"},
    {"TASMultiLayerTopology", "TopologyAwareScheduling"},
    {"TASRecomputeAssignmentWithinSchedulingCycle", "TopologyAwareScheduling"},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", "TASFailedNodeReplacement"},
    {"TASReplaceNodeDueToNotReadyOverFixedTime", "TopologyAwareScheduling"},
    {"TASReplaceNodeOnNodeTaints", "TopologyAwareScheduling"},
    {"TASReplaceNodeOnPodTermination", "TASFailedNodeReplacement"},
    {"TASReplaceNodeOnPodTermination", "TopologyAwareScheduling"},
    {"TASRespectNodeAffinityPreferred", "TopologyAwareScheduling"},
    {"UnadmittedWorkloadsExplicitStatus", "UnadmittedWorkloadsObservability"},
};

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// The first reason why the gates cannot be set at all; empty when they can.
std::string why_not_settable(const FeatureGateMap& gates) {
  std::string locked;
  for (const auto& [name, enabled] : gates) {
    if (name == kAllAlpha || name == kAllBeta) continue;
    const FeatureGate* gate = find_feature_gate(name);
    if (gate == nullptr) return "unrecognized feature gate: " + name;
    if (gate->stage == GateStage::kStable && gate->default_enabled != enabled && locked.empty()) {
      locked = "cannot set feature gate " + name + " to " + (enabled ? "true" : "false") + ", feature is locked to " +
               (gate->default_enabled ? "true" : "false");
    }
  }
  return locked;
}

FieldErrors missing_dependencies(const FeatureGateMap& gates) {
  const std::string field(kField);
  FieldErrors errors;
  if (gate_enabled(gates, "TASProfileMixed") && !gate_enabled(gates, "TopologyAwareScheduling")) {
    errors.push_back(invalid(field, 1, "cannot use a TAS profile with TAS disabled"));
  }
  for (const auto& [gate, needs] : kDependencies) {
    if (!gate_enabled(gates, gate) || gate_enabled(gates, needs)) continue;
    errors.push_back(
        invalid(field, std::string(gate), std::string(gate) + " requires " + std::string(needs) + " to be enabled"));
  }
  return errors;
}

}  // namespace

std::span<const FeatureGate> known_feature_gates() {
  return kGates;
}

const FeatureGate* find_feature_gate(std::string_view name) {
  const auto* found = std::lower_bound(std::begin(kGates), std::end(kGates), name,
                                       [](const FeatureGate& gate, std::string_view n) { return gate.name < n; });
  return found != std::end(kGates) && found->name == name ? found : nullptr;
}

Result<FeatureGateMap> parse_feature_gates(std::string_view text) {
  FeatureGateMap gates;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (entry.empty()) continue;
    const auto equals = entry.find('=');
    const std::string name(trim(entry.substr(0, equals)));
    if (equals == std::string_view::npos) return fail("missing bool value for " + name);
    const std::string_view value = trim(entry.substr(equals + 1));
    const Result<bool> enabled = go_parse_bool(value);
    if (!enabled) {
      return fail("invalid value of " + name + "=" + std::string(value) + ", err: " + enabled.error().message);
    }
    gates[name] = *enabled;
  }
  return gates;
}

FeatureGateMap resolve_feature_gates(const FeatureGateMap& named) {
  FeatureGateMap resolved = named;
  const auto spread = [&](std::string_view group, GateStage stage) {
    const auto said = named.find(group);
    if (said == named.end()) return;
    resolved.erase(said->first);
    for (const FeatureGate& gate : kGates) {
      if (gate.stage == stage) resolved.emplace(gate.name, said->second);
    }
  };
  spread(kAllAlpha, GateStage::kAlpha);
  spread(kAllBeta, GateStage::kBeta);
  return resolved;
}

bool gate_enabled(const FeatureGateMap& resolved, std::string_view name) {
  const auto said = resolved.find(name);
  if (said != resolved.end()) return said->second;
  const FeatureGate* gate = find_feature_gate(name);
  return gate != nullptr && gate->default_enabled;
}

FieldErrors check_feature_gates(std::string_view flag, const std::optional<FeatureGateMap>& file) {
  const std::string field(kField);
  FeatureGateMap gates = file.value_or(FeatureGateMap{});
  const nlohmann::json file_value = gates;
  if (!flag.empty()) {
    Result<FeatureGateMap> parsed = parse_feature_gates(flag);
    if (!parsed) return {invalid(field, std::string(flag), parsed.error().message)};
    gates = std::move(parsed).value();
  }
  if (const std::string reason = why_not_settable(gates); !reason.empty()) {
    return {flag.empty() ? invalid(field, file_value, reason) : invalid(field, std::string(flag), reason)};
  }
  FieldErrors errors;
  if (!flag.empty() && file) {
    errors.push_back(invalid(field, file_value, "feature gates for CLI and configuration cannot both specified"));
  }
  append(errors, missing_dependencies(resolve_feature_gates(gates)));
  std::sort(errors.begin(), errors.end(), [](const FieldError& a, const FieldError& b) { return a.text() < b.text(); });
  return errors;
}

FieldErrors check_jobset_feature_gates(std::string_view field, const FeatureGateMap& gates) {
  constexpr std::string_view kKnown[] = {kElasticJobSetGate, kInPlaceRestartGate, kRestartJobGate,
                                         kJobSetTlsOptionsGate};
  constexpr std::string_view kUnsupported[] = {kJobSetSchedulingGate, kJobSetGangOfGangsGate};
  const auto is_one_of = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  FieldErrors errors;
  for (const auto& [name, enabled] : gates) {
    const FieldPath path = FieldPath(std::string(field)).child(name);
    if (name == kJobSetTlsOptionsGate && !enabled) {
      errors.push_back(invalid(path, false, "the feature is locked to true; leave the gate out"));
    } else if (is_one_of(kUnsupported, name) && enabled) {
      errors.push_back(invalid(path, true,
                               "muster does not support workload-aware scheduling of JobSets, which needs kinds of "
                               "Kubernetes 1.37; leave the gate out, or run JobSet's own controller beside muster"));
    } else if (!is_one_of(kKnown, name) && !is_one_of(kUnsupported, name)) {
      errors.push_back(forbidden(
          path, "is no feature gate of JobSet; the gates are " + join({std::begin(kKnown), std::end(kKnown)}, ", ")));
    }
  }
  return errors;
}

}  // namespace muster
