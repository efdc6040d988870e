// Keeps the conversion of muster's CRDs (LocalQueue, ClusterQueue, Cohort, Workload) as it
// must be: by /convert of this muster, with the CA bundle of its serving certificate. A
// definition that is not labelled as muster's is another's and left alone. Pure.
//
// Source: apiextensions.k8s.io/v1 CustomResourceDefinition, spec.conversion.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "manifests/webhooks.h"

namespace muster {

// The merge patch that makes `live`, the definition as the API server has it, what it
// should be; nullopt when it is. With an empty `ca_bundle_pem` somebody else injects: the
// bundle that is there stays, and a definition without a webhook is left to them.
std::optional<nlohmann::json> reconcile_conversion(const nlohmann::json& live, const WebhookRegistration& registration,
                                                   const std::string& ca_bundle_pem);

// The definition's CA bundle, PEM, empty when it has none; nothing for null and for the
// definitions of others.
std::vector<std::string> conversion_bundles_of(const nlohmann::json& definition);

}  // namespace muster
