// Keeps muster's two webhook configurations as they must be: the entries follow
// the settings and the namespaces with a default LocalQueue, and carry the CA
// bundle of the serving certificate. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/review/cluster_view.h"
#include "manifests/webhooks.h"

namespace muster::reconcilers {

// The merge patch that corrects `live`; nullopt when it is correct. `live` is the object of the API server. An
// unchanged configuration is never written. With an empty `ca_bundle_pem` the existing bundles stay: another program
// injects them.
std::optional<nlohmann::json> reconcile_webhook_configuration(const nlohmann::json& live, const ClusterView& view,
                                                              const manifests::WebhookRegistration& registration,
                                                              const std::string& ca_bundle_pem);

// The distinct CA bundles of a configuration's webhooks, PEM; an entry without one
// counts as an empty bundle. Nothing for null.
std::vector<std::string> ca_bundles_of(const nlohmann::json& configuration);

}  // namespace muster::reconcilers
