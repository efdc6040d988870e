#include "api/config/configuration_schema.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

namespace muster {

namespace {

using enum ConfigKind;
using enum ConfigContainer;
using enum ConfigPresence;

constexpr uint8_t kOld = static_cast<uint8_t>(ConfigVersion::kV1beta1);
constexpr uint8_t kNew = static_cast<uint8_t>(ConfigVersion::kV1beta2);
constexpr uint8_t kBoth = kOld | kNew;
constexpr bool kActs = true;

// --- shared types ---

constexpr ConfigField kRequirementFields[] = {
    {"key", kString, kOne, kAlways, "string"},
    {"operator", kString, kOne, kAlways, "v1.LabelSelectorOperator"},
    {"values", kString, kList, kOmitEmpty, "string"},
};
constexpr ConfigStruct kRequirement{"LabelSelectorRequirement", kRequirementFields};

constexpr ConfigField kLabelSelectorFields[] = {
    {"matchLabels", kString, kMap, kOmitEmpty, "string"},
    {"matchExpressions", kStruct, kList, kOmitEmpty, "v1.LabelSelectorRequirement", &kRequirement},
};
constexpr ConfigStruct kLabelSelector{"LabelSelector", kLabelSelectorFields};

// --- the process: webhook, metrics, health, TLS, leader election ---

constexpr ConfigField kWebhookFields[] = {
    {"port", kInt, kOne, kPointer, "int", nullptr, kBoth, kActs},
    {"host", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"certDir", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kWebhook{"ControllerWebhook", kWebhookFields};

constexpr ConfigField kLeaderElectionFields[] = {
    {"leaderElect", kBool, kOne, kPointer, "bool", nullptr, kBoth, kActs},
    {"leaseDuration", kDuration, kOne, kAlways, "v1.Duration", nullptr, kBoth, kActs},
    {"renewDeadline", kDuration, kOne, kAlways, "v1.Duration", nullptr, kBoth, kActs},
    {"retryPeriod", kDuration, kOne, kAlways, "v1.Duration", nullptr, kBoth, kActs},
    {"resourceLock", kString, kOne, kAlways, "string", nullptr, kBoth, kActs},
    {"resourceName", kString, kOne, kAlways, "string", nullptr, kBoth, kActs},
    {"resourceNamespace", kString, kOne, kAlways, "string", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kLeaderElection{"LeaderElectionConfiguration", kLeaderElectionFields};

constexpr ConfigField kLocalQueueMetricsFields[] = {
    {"enable", kBool, kOne, kOmitEmpty, "bool", nullptr, kBoth, kActs},
    {"localQueueSelector", kStruct, kOne, kPointer, "v1.LabelSelector", &kLabelSelector, kBoth, kActs},
};
constexpr ConfigStruct kLocalQueueMetrics{"LocalQueueMetrics", kLocalQueueMetricsFields};

constexpr ConfigField kCustomLabelFields[] = {
    {"name", kString, kOne, kAlways, "string"},
    {"sourceLabelKey", kString, kOne, kOmitEmpty, "string"},
    {"sourceAnnotationKey", kString, kOne, kOmitEmpty, "string"},
    {"sourceKind", kString, kOne, kPointer, "~SourceKind", nullptr, kNew},
    {"trackedValues", kString, kList, kOmitEmpty, "string", nullptr, kNew},
};
constexpr ConfigStruct kCustomLabel{"ControllerMetricsCustomLabel", kCustomLabelFields};

constexpr ConfigField kMetricsFields[] = {
    {"bindAddress", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"enableClusterQueueResources", kBool, kOne, kOmitEmpty, "bool", nullptr, kBoth, kActs},
    {"customLabels", kStruct, kList, kOmitEmpty, "~ControllerMetricsCustomLabel", &kCustomLabel},
    {"localQueueMetrics", kStruct, kOne, kPointer, "~LocalQueueMetrics", &kLocalQueueMetrics},
};
constexpr ConfigStruct kMetrics{"ControllerMetrics", kMetricsFields};

constexpr ConfigField kHealthFields[] = {
    {"healthProbeBindAddress", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"readinessEndpointName", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"livenessEndpointName", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kHealth{"ControllerHealth", kHealthFields};

constexpr ConfigField kControllerFields[] = {
    {"groupKindConcurrency", kInt, kMap, kOmitEmpty, "int"},
    {"cacheSyncTimeout", kNanoseconds, kOne, kPointer, "time.Duration"},
};
constexpr ConfigStruct kController{"ControllerConfigurationSpec", kControllerFields};

constexpr ConfigField kTlsFields[] = {
    {"minVersion", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"cipherSuites", kString, kList, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"curvePreferences", kInt32, kList, kOmitEmpty, "int32"},
};
constexpr ConfigStruct kTls{"TLSOptions", kTlsFields};

constexpr ConfigField kCertManagementFields[] = {
    {"enable", kBool, kOne, kPointer, "bool", nullptr, kBoth, kActs},
    {"webhookServiceName", kString, kOne, kPointer, "string", nullptr, kBoth, kActs},
    {"webhookSecretName", kString, kOne, kPointer, "string", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kCertManagement{"InternalCertManagement", kCertManagementFields};

constexpr ConfigField kClientConnectionFields[] = {
    {"qps", kFloat, kOne, kPointer, "float32", nullptr, kBoth, kActs},
    {"burst", kInt32, kOne, kPointer, "int32", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kClientConnection{"ClientConnection", kClientConnectionFields};

// --- queues: readiness, fairness, resources, retention ---

constexpr ConfigField kRequeuingFields[] = {
    {"timestamp", kString, kOne, kPointer, "~RequeuingTimestamp", nullptr, kBoth, kActs},
    {"backoffLimitCount", kInt32, kOne, kPointer, "int32", nullptr, kBoth, kActs},
    {"backoffBaseSeconds", kInt32, kOne, kPointer, "int32", nullptr, kBoth, kActs},
    {"backoffMaxSeconds", kInt32, kOne, kPointer, "int32", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kRequeuing{"RequeuingStrategy", kRequeuingFields};

constexpr ConfigField kWaitForPodsReadyFields[] = {
    {"enable", kBool, kOne, kOmitEmpty, "bool", nullptr, kOld, kActs},
    // A pointer in v1beta1, a value in v1beta2: null is an error there.
    {"timeout", kDuration, kOne, kPointer, "v1.Duration", nullptr, kOld, kActs},
    {"timeout", kDuration, kOne, kAlways, "v1.Duration", nullptr, kNew, kActs},
    {"blockAdmission", kBool, kOne, kPointer, "bool", nullptr, kBoth, kActs},
    {"requeuingStrategy", kStruct, kOne, kPointer, "~RequeuingStrategy", &kRequeuing},
    {"recoveryTimeout", kDuration, kOne, kPointer, "v1.Duration", nullptr, kBoth, kActs},
    {"unscheduledTimeout", kDuration, kOne, kPointer, "v1.Duration", nullptr, kNew},
    {"maxTimeoutOnWorkload", kDuration, kOne, kPointer, "v1.Duration", nullptr, kNew},
};
constexpr ConfigStruct kWaitForPodsReady{"WaitForPodsReady", kWaitForPodsReadyFields};

constexpr ConfigField kQueueVisibilityQueuesFields[] = {
    {"maxCount", kInt32, kOne, kOmitEmpty, "int32"},
};
constexpr ConfigStruct kQueueVisibilityQueues{"ClusterQueueVisibility", kQueueVisibilityQueuesFields};

constexpr ConfigField kQueueVisibilityFields[] = {
    {"clusterQueues", kStruct, kOne, kPointer, "~ClusterQueueVisibility", &kQueueVisibilityQueues},
    {"updateIntervalSeconds", kInt32, kOne, kOmitEmpty, "int32"},
};
constexpr ConfigStruct kQueueVisibility{"QueueVisibility", kQueueVisibilityFields};

constexpr ConfigField kPodOptionsFields[] = {
    {"namespaceSelector", kStruct, kOne, kPointer, "v1.LabelSelector", &kLabelSelector},
    {"podSelector", kStruct, kOne, kPointer, "v1.LabelSelector", &kLabelSelector},
};
constexpr ConfigStruct kPodOptions{"PodIntegrationOptions", kPodOptionsFields};

constexpr ConfigField kIntegrationsFields[] = {
    {"frameworks", kString, kList, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"externalFrameworks", kString, kList, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"podOptions", kStruct, kOne, kPointer, "~PodIntegrationOptions", &kPodOptions, kOld},
    {"labelKeysToCopy", kString, kList, kOmitEmpty, "string", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kIntegrations{"Integrations", kIntegrationsFields};

constexpr ConfigField kFairSharingFields[] = {
    {"enable", kBool, kOne, kOmitEmpty, "bool", nullptr, kOld, kActs},
    {"preemptionStrategies", kString, kList, kOmitEmpty, "~PreemptionStrategy", nullptr, kOld, kActs},
    {"preemptionStrategies", kString, kList, kAlways, "~PreemptionStrategy", nullptr, kNew, kActs},
};
constexpr ConfigStruct kFairSharing{"FairSharing", kFairSharingFields};

constexpr ConfigField kAdmissionFairSharingFields[] = {
    {"usageHalfLifeTime", kDuration, kOne, kAlways, "v1.Duration"},
    {"usageSamplingInterval", kDuration, kOne, kAlways, "v1.Duration"},
    {"resourceWeights", kFloat, kMap, kOmitEmpty, "float64", nullptr, kBoth, false, "map[v1.ResourceName]float64"},
};
constexpr ConfigStruct kAdmissionFairSharing{"AdmissionFairSharing", kAdmissionFairSharingFields};

constexpr ConfigField kCelFields[] = {
    {"expression", kString, kOne, kAlways, "string"},
};
constexpr ConfigStruct kCel{"CELDeviceSelector", kCelFields};

constexpr ConfigField kDeviceSelectorFields[] = {
    {"cel", kStruct, kOne, kPointer, "v1.CELDeviceSelector", &kCel},
};
constexpr ConfigStruct kDeviceSelector{"DeviceSelector", kDeviceSelectorFields};

constexpr ConfigField kCounterFields[] = {
    {"name", kString, kOne, kAlways, "string"},
    {"driver", kString, kOne, kAlways, "string"},
    {"deviceSelector", kStruct, kOne, kAlways, "v1.DeviceSelector", &kDeviceSelector},
};
constexpr ConfigStruct kCounter{"DeviceClassCounterSource", kCounterFields};
constexpr ConfigStruct kCapacity{"DeviceClassCapacitySource", kCounterFields};

constexpr ConfigField kDeviceSourceFields[] = {
    {"counter", kStruct, kOne, kPointer, "~DeviceClassCounterSource", &kCounter},
    {"capacity", kStruct, kOne, kPointer, "~DeviceClassCapacitySource", &kCapacity},
};
constexpr ConfigStruct kDeviceSource{"DeviceClassSourceConfig", kDeviceSourceFields};

constexpr ConfigField kDeviceClassFields[] = {
    {"name", kString, kOne, kAlways, "v1.ResourceName"},
    {"deviceClassNames", kString, kList, kAlways, "v1.ResourceName"},
    {"sources", kStruct, kList, kOmitEmpty, "~DeviceClassSourceConfig", &kDeviceSource, kNew},
};
constexpr ConfigStruct kDeviceClass{"DeviceClassMapping", kDeviceClassFields};

constexpr ConfigField kTransformationFields[] = {
    {"input", kString, kOne, kAlways, "v1.ResourceName"},
    {"strategy", kString, kOne, kPointer, "~ResourceTransformationStrategy"},
    {"multiplyBy", kString, kOne, kOmitEmpty, "v1.ResourceName"},
    {"outputs", kQuantity, kMap, kOmitEmpty, "resource.Quantity", nullptr, kBoth, false, "v1.ResourceList"},
};
constexpr ConfigStruct kTransformation{"ResourceTransformation", kTransformationFields};

constexpr ConfigField kResourcesFields[] = {
    {"quotaCheckStrategy", kString, kOne, kPointer, "~QuotaCheckStrategy", nullptr, kNew, kActs},
    {"excludeResourcePrefixes", kString, kList, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"transformations", kStruct, kList, kOmitEmpty, "~ResourceTransformation", &kTransformation, kBoth, kActs},
    {"deviceClassMappings", kStruct, kList, kOmitEmpty, "~DeviceClassMapping", &kDeviceClass},
};
constexpr ConfigStruct kResources{"Resources", kResourcesFields};

constexpr ConfigField kRetentionFields[] = {
    {"afterFinished", kDuration, kOne, kPointer, "v1.Duration", nullptr, kBoth, kActs},
    {"afterDeactivatedByKueue", kDuration, kOne, kPointer, "v1.Duration", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kRetention{"WorkloadRetentionPolicy", kRetentionFields};

constexpr ConfigField kRetentionPoliciesFields[] = {
    {"workloads", kStruct, kOne, kPointer, "~WorkloadRetentionPolicy", &kRetention},
};
constexpr ConfigStruct kRetentionPolicies{"ObjectRetentionPolicies", kRetentionPoliciesFields};

constexpr ConfigField kVisibilityServerFields[] = {
    {"bindAddress", kString, kOne, kPointer, "string", nullptr, kBoth, kActs},
    {"bindPort", kInt32, kOne, kPointer, "int32", nullptr, kBoth, kActs},
};
constexpr ConfigStruct kVisibilityServer{"VisibilityServerConfiguration", kVisibilityServerFields};

// --- MultiKueue ---

constexpr ConfigField kExecEnvFields[] = {
    {"name", kString, kOne, kAlways, "string"},
    {"value", kString, kOne, kAlways, "string"},
};
constexpr ConfigStruct kExecEnv{"ExecEnvVar", kExecEnvFields};

constexpr ConfigField kExecConfigFields[] = {
    {"command", kString, kOne, kAlways, "string"},
    {"args", kString, kList, kAlways, "string"},
    {"env", kStruct, kList, kAlways, "api.ExecEnvVar", &kExecEnv},
    {"apiVersion", kString, kOne, kOmitEmpty, "string"},
    {"installHint", kString, kOne, kOmitEmpty, "string"},
    {"provideClusterInfo", kBool, kOne, kAlways, "bool"},
    {"interactiveMode", kString, kOne, kOmitEmpty, "api.ExecInteractiveMode"},
};
constexpr ConfigStruct kExecConfig{"ExecConfig", kExecConfigFields};

constexpr ConfigField kAccessProviderFields[] = {
    {"name", kString, kOne, kAlways, "string"},
    {"execConfig", kStruct, kOne, kAlways, "api.ExecConfig", &kExecConfig},
};
constexpr ConfigStruct kAccessProvider{"ClusterProfileAccessProvider", kAccessProviderFields};

constexpr ConfigField kClusterProfileFields[] = {
    {"accessProviders", kStruct, kList, kOmitEmpty, "~ClusterProfileAccessProvider", &kAccessProvider},
    {"credentialsProviders", kStruct, kList, kOmitEmpty, "~ClusterProfileAccessProvider", &kAccessProvider},
};
constexpr ConfigStruct kClusterProfile{"ClusterProfile", kClusterProfileFields};

constexpr ConfigField kExternalFrameworkFields[] = {
    {"name", kString, kOne, kAlways, "string"},
};
constexpr ConfigStruct kExternalFramework{"MultiKueueExternalFramework", kExternalFrameworkFields};

constexpr ConfigField kIncrementalDispatcherFields[] = {
    {"stepSize", kInt32, kOne, kPointer, "int32"},
};
constexpr ConfigStruct kIncrementalDispatcher{"IncrementalDispatcherConfig", kIncrementalDispatcherFields};

constexpr ConfigField kMultiKueueFields[] = {
    {"gcInterval", kDuration, kOne, kPointer, "v1.Duration"},
    {"origin", kString, kOne, kPointer, "string"},
    {"workerLostTimeout", kDuration, kOne, kPointer, "v1.Duration"},
    {"dispatcherName", kString, kOne, kPointer, "string"},
    {"externalFrameworks", kStruct, kList, kOmitEmpty, "~MultiKueueExternalFramework", &kExternalFramework},
    {"clusterProfile", kStruct, kOne, kPointer, "~ClusterProfile", &kClusterProfile, kNew},
    {"incrementalDispatcherConfig", kStruct, kOne, kPointer, "~IncrementalDispatcherConfig", &kIncrementalDispatcher,
     kNew},
};
constexpr ConfigStruct kMultiKueue{"MultiKueue", kMultiKueueFields};

// --- the root ---

constexpr ConfigField kRootFields[] = {
    {"apiVersion", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"kind", kString, kOne, kOmitEmpty, "string", nullptr, kBoth, kActs},
    {"namespace", kString, kOne, kPointer, "string", nullptr, kBoth, kActs},
    {"webhook", kStruct, kOne, kAlways, "~ControllerWebhook", &kWebhook},
    {"leaderElection", kStruct, kOne, kPointer, "v1alpha1.LeaderElectionConfiguration", &kLeaderElection},
    {"metrics", kStruct, kOne, kAlways, "~ControllerMetrics", &kMetrics},
    {"health", kStruct, kOne, kAlways, "~ControllerHealth", &kHealth},
    {"pprofBindAddress", kString, kOne, kOmitEmpty, "string"},
    {"controller", kStruct, kOne, kPointer, "~ControllerConfigurationSpec", &kController},
    {"tls", kStruct, kOne, kPointer, "~TLSOptions", &kTls},
    {"manageJobsWithoutQueueName", kBool, kOne, kAlways, "bool", nullptr, kBoth, kActs},
    {"managedJobsNamespaceSelector", kStruct, kOne, kPointer, "v1.LabelSelector", &kLabelSelector, kBoth, kActs},
    {"internalCertManagement", kStruct, kOne, kPointer, "~InternalCertManagement", &kCertManagement},
    {"waitForPodsReady", kStruct, kOne, kPointer, "~WaitForPodsReady", &kWaitForPodsReady},
    {"clientConnection", kStruct, kOne, kPointer, "~ClientConnection", &kClientConnection},
    {"integrations", kStruct, kOne, kPointer, "~Integrations", &kIntegrations},
    {"queueVisibility", kStruct, kOne, kPointer, "~QueueVisibility", &kQueueVisibility, kOld},
    {"multiKueue", kStruct, kOne, kPointer, "~MultiKueue", &kMultiKueue},
    {"fairSharing", kStruct, kOne, kPointer, "~FairSharing", &kFairSharing},
    {"admissionFairSharing", kStruct, kOne, kPointer, "~AdmissionFairSharing", &kAdmissionFairSharing},
    {"resources", kStruct, kOne, kPointer, "~Resources", &kResources},
    {"featureGates", kBool, kMap, kOmitEmpty, "bool", nullptr, kBoth, kActs},
    {"objectRetentionPolicies", kStruct, kOne, kPointer, "~ObjectRetentionPolicies", &kRetentionPolicies},
    {"visibilityServer", kStruct, kOne, kPointer, "~VisibilityServerConfiguration", &kVisibilityServer, kNew},
};
constexpr ConfigStruct kRoot{"Configuration", kRootFields};

constexpr std::string_view kControllerManagerFields[] = {"controller",       "health", "leaderElection", "metrics",
                                                         "pprofBindAddress", "tls",    "webhook"};

void collect_settings(const ConfigStruct& of, const std::string& prefix, uint8_t within,
                      std::vector<ConfigSetting>& out) {
  for (const ConfigField& field : of.fields) {
    const uint8_t versions = field.versions & within;
    const std::string path = prefix + std::string(field.name);
    if (path == "apiVersion" || path == "kind" || path == "featureGates") continue;
    if (field.kind == kStruct && field.container == kOne && !field.acts) {
      collect_settings(*field.object, path + ".", versions, out);
      continue;
    }
    const auto same = std::find_if(out.begin(), out.end(), [&](const ConfigSetting& s) { return s.path == path; });
    if (same != out.end()) {
      same->versions |= versions;  // two versions of one field
    } else {
      out.push_back({path, field.acts, versions});
    }
  }
}

nlohmann::ordered_json in_schema_order(const nlohmann::json& value, const ConfigField& field);

nlohmann::ordered_json object_in_schema_order(const nlohmann::json& value, const ConfigStruct& type) {
  auto ordered = nlohmann::ordered_json::object();
  for (const ConfigField& field : type.fields) {
    const auto found = value.find(field.name);
    if (found != value.end()) ordered[std::string(field.name)] = in_schema_order(*found, field);
  }
  return ordered;
}

nlohmann::ordered_json in_schema_order(const nlohmann::json& value, const ConfigField& field) {
  if (field.kind != kStruct) return nlohmann::ordered_json(value);
  if (value.is_object()) return object_in_schema_order(value, *field.object);
  auto list = nlohmann::ordered_json::array();
  for (const auto& element : value) list.push_back(object_in_schema_order(element, *field.object));
  return list;
}

}  // namespace

const ConfigStruct& configuration_schema() {
  return kRoot;
}

bool embedded_in_controller_manager(std::string_view root_field) {
  return std::find(std::begin(kControllerManagerFields), std::end(kControllerManagerFields), root_field) !=
         std::end(kControllerManagerFields);
}

std::vector<ConfigSetting> configuration_settings() {
  std::vector<ConfigSetting> settings;
  collect_settings(kRoot, "", kBoth, settings);
  return settings;
}

std::string print_as_go(const nlohmann::json& value, const ConfigField& field) {
  return in_schema_order(value, field).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const ConfigField& configuration_field(std::string_view path) {
  const ConfigStruct* type = &kRoot;
  const ConfigField* found = nullptr;
  while (!path.empty()) {
    assert(type != nullptr);
    const auto dot = std::min(path.find('.'), path.size());
    const std::string_view name = path.substr(0, dot);
    path.remove_prefix(std::min(dot + 1, path.size()));
    const auto match = std::find_if(type->fields.begin(), type->fields.end(),
                                    [&](const ConfigField& field) { return field.name == name; });
    assert(match != type->fields.end());
    found = &*match;
    type = found->object;
  }
  assert(found != nullptr);
  return *found;
}

}  // namespace muster
