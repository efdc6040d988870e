// The APIServices of Kueue's visibility API: by them the API server passes its paths on to muster. Pure.
//
// While one has no answer, the API server cannot say which kinds there are, and no namespace can be deleted
// (docs/visibility.md). So there are none unless they are asked for.
//
// Source: apiregistration.k8s.io/v1 APIService; priorities as Kueue's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "api/meta/resource_type.h"
#include "manifests/webhooks.h"

namespace muster::manifests {

inline constexpr ResourceType kApiServices{
    "apiregistration.k8s.io", "v1", "apiservices", "APIService", false, "apiregistration.k8s.io/v1",
};

// `spec.service` of each.
nlohmann::json api_service_reference(const WebhookRegistration& registration);

// To be created, without a CA bundle; none where the API is not aggregated.
std::vector<nlohmann::json> api_services(const WebhookRegistration& registration);

}  // namespace muster::manifests
