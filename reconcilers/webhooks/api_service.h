// Maintains an APIService of the visibility API: it points to muster's Service and has the CA bundle of its serving
// certificate. An APIService without muster's label, for example Kueue's, is not changed. Pure.
//
// Source: apiregistration.k8s.io/v1 APIService.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "manifests/webhooks.h"

namespace muster::reconcilers {

// The merge patch that makes `live` what it should be; nullopt when it is. With an empty `ca_bundle_pem` another
// program injects: the bundle that is there stays. Where muster runs outside of the cluster (WebhookRegistration::url),
// the administrator has made the Service, and only the bundle is kept.
std::optional<nlohmann::json> reconcile_api_service(const nlohmann::json& live,
                                                    const manifests::WebhookRegistration& registration,
                                                    const std::string& ca_bundle_pem);

// Its CA bundle, PEM, empty when it has none; nothing for those of others.
std::vector<std::string> api_service_bundles_of(const nlohmann::json& live);

}  // namespace muster::reconcilers
