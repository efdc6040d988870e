// Names of muster's own objects in a cluster, spelled once. The YAML files of this
// folder use the same; test/manifests compares.
#pragma once

#include <array>
#include <string_view>

namespace muster::manifests {

// The label that tells muster's own objects.
inline constexpr std::string_view kAppNameLabel = "app.kubernetes.io/name";
inline constexpr std::string_view kAppName = "muster";

inline constexpr std::string_view kDefaultNamespace = "muster-system";
inline constexpr std::string_view kWebhookConfigurationName = "muster";  // both of them
// ValidatingAdmissionPolicy and its binding.
inline constexpr std::string_view kUnqueuedKindsPolicyName = "muster-unqueued-kinds";
inline constexpr std::string_view kWebhookServiceName = "muster-webhook";
// Separate, since it leads to replicas that are not ready yet, too.
inline constexpr std::string_view kConversionServiceName = "muster-conversion-service";
inline constexpr std::string_view kCertificateSecretName = "muster-webhook-cert";
// Kueue's: two of them cannot lead at once.
inline constexpr std::string_view kLeaseName = "c1f6bfd2.kueue.x-k8s.io";
inline constexpr std::string_view kServiceAccountName = "muster";
inline constexpr std::string_view kLeaseRoleName = "muster-lease";  // where the Lease lies elsewhere
inline constexpr std::string_view kMetricsReaderRoleName = "muster-metrics-reader";
// Not the role's name: administrators name their own binding of the role so, and an apply would replace its subjects.
inline constexpr std::string_view kExplainMetricsBindingName = "muster-explain-metrics";
// Reads the ConfigMap by which the API server is distinguished from others, in kube-system; Kubernetes brings the Role.
inline constexpr std::string_view kAuthenticationReaderBindingName = "muster-authentication-reader";
inline constexpr std::string_view kAuthenticationReaderRoleName = "extension-apiserver-authentication-reader";
// APIServices of Kueue's visibility API; Kueue's own have the same names.
inline constexpr std::array<std::string_view, 2> kVisibilityApiServiceNames = {"v1beta1.visibility.kueue.x-k8s.io",
                                                                               "v1beta2.visibility.kueue.x-k8s.io"};
// Port of the webhooks' Service, where the visibility API is aggregated.
inline constexpr std::string_view kVisibilityPortName = "visibility";
// The listener of metrics and explanations, and the name of its port.
inline constexpr std::string_view kMetricsServiceName = "muster-metrics";
inline constexpr std::string_view kMetricsPortName = "metrics";
// Tokens for `muster explain` are made for this audience: other servers reject them.
inline constexpr std::string_view kExplainAudience = "muster.batch/explain";
// The service account of a namespace in whose name persons ask.
inline constexpr std::string_view kExplainAccountName = "muster-explain";
inline constexpr std::string_view kExplainViewerRoleName = "muster-explain-viewer";
// Binds this Role to every user whom the API server knows: each request says which user asks.
inline constexpr std::string_view kReadersBindingName = "muster-readers";
inline constexpr std::string_view kEverybodyGroup = "system:authenticated";
// ValidatingAdmissionPolicy and its binding.
inline constexpr std::string_view kReaderSessionPolicyName = "muster-reader-sessions";

// The CustomResourceDefinition of JobSets, whoever installed it.
inline constexpr std::string_view kJobSetDefinitionName = "jobsets.jobset.x-k8s.io";
// Those of the kinds that /convert converts (api/conversion/conversion.h).
inline constexpr std::array<std::string_view, 4> kConvertedDefinitionNames = {
    "clusterqueues.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io", "workloads.kueue.x-k8s.io"};
// Upstream's JobSet controller, as its manifests name its parts.
inline constexpr std::string_view kForeignJobSetWebhooks = "jobset-validating-webhook-configuration";
inline constexpr std::string_view kForeignJobSetNamespace = "jobset-system";
inline constexpr std::string_view kForeignJobSetLease = "6d4f6a47.jobset.x-k8s.io";
inline constexpr std::string_view kForeignJobSetAccount = "jobset-controller-manager";
// Kueue, as its manifests name its parts.
inline constexpr std::string_view kKueueLeaseName = kLeaseName;
inline constexpr std::string_view kKueueMutatingWebhooks = "kueue-mutating-webhook-configuration";
inline constexpr std::string_view kKueueValidatingWebhooks = "kueue-validating-webhook-configuration";
inline constexpr std::string_view kKueueAccount = "kueue-controller-manager";

}  // namespace muster::manifests
