// Maintains the conversion of muster's CRDs (LocalQueue, ClusterQueue, Cohort, Workload): by /convert of
// this muster, with the CA bundle of its serving certificate. A CRD without muster's label is not changed.
// Pure.
//
// Source: apiextensions.k8s.io/v1 CustomResourceDefinition, spec.conversion.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "manifests/webhooks.h"

namespace muster::reconcilers {

// The merge patch that corrects `live`, the CRD of the API server; nullopt when it is correct. With an empty
// `ca_bundle_pem` another program injects the bundle: the existing bundle stays, and a CRD without a webhook is not
// changed.
std::optional<nlohmann::json> reconcile_conversion(const nlohmann::json& live,
                                                   const manifests::WebhookRegistration& registration,
                                                   const std::string& ca_bundle_pem);

// The definition's CA bundle, PEM, empty when it has none; nothing for null and for the
// definitions of others.
std::vector<std::string> conversion_bundles_of(const nlohmann::json& definition);

}  // namespace muster::reconcilers
