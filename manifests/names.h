// Names of muster's own objects in a cluster, spelled once. The YAML files of this
// folder use the same; test/manifests compares.
#pragma once

#include <string_view>

namespace muster {

inline constexpr std::string_view kDefaultNamespace = "muster-system";
inline constexpr std::string_view kWebhookConfigurationName = "muster";  // both of them
inline constexpr std::string_view kWebhookServiceName = "muster-webhook";
inline constexpr std::string_view kCertificateSecretName = "muster-webhook-cert";
inline constexpr std::string_view kServiceAccountName = "muster";
inline constexpr std::string_view kMetricsReaderRoleName = "muster-metrics-reader";

}  // namespace muster
