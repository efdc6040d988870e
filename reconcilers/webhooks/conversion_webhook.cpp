#include "reconcilers/webhooks/conversion_webhook.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/encoding.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

bool is_own_definition(const json& definition) {
  return label(definition, manifests::kAppNameLabel) == manifests::kAppName;
}

// The merge patch that changes one client configuration into the other. Fields that must be removed are named,
// since only one of service and URL is allowed.
json difference(const json& live, json wanted) {
  for (const auto& [key, value] : live.items()) {
    if (!wanted.contains(key)) wanted[key] = nullptr;
  }
  return wanted;
}

}  // namespace

std::optional<json> reconcile_conversion(const json& live, const manifests::WebhookRegistration& registration,
                                         const std::string& ca_bundle_pem) {
  if (!is_own_definition(live)) return std::nullopt;
  const json& conversion = object_at(live, {"spec", "conversion"});
  const bool by_webhook = string_at(conversion, {"strategy"}) == "Webhook";
  if (ca_bundle_pem.empty() && !by_webhook) return std::nullopt;
  const json& config = object_at(conversion, {"webhook", "clientConfig"});
  json wanted = manifests::conversion_client_config(registration, ca_bundle_pem);
  const std::string_view injected = string_at(config, {"caBundle"});
  if (ca_bundle_pem.empty() && !injected.empty()) wanted["caBundle"] = injected;
  const json versions = {"v1"};
  if (by_webhook && config == wanted && array_at(conversion, {"webhook", "conversionReviewVersions"}) == versions) {
    return std::nullopt;
  }
  const json webhook = {{"conversionReviewVersions", versions}, {"clientConfig", difference(config, wanted)}};
  return json{{"metadata", {{"resourceVersion", string_at(live, {"metadata", "resourceVersion"})}}},
              {"spec", {{"conversion", {{"strategy", "Webhook"}, {"webhook", webhook}}}}}};
}

std::vector<std::string> conversion_bundles_of(const json& definition) {
  if (!is_own_definition(definition)) return {};
  // A text that is not base64 is not a valid bundle: it counts as missing.
  auto pem = base64_decode(string_at(definition, {"spec", "conversion", "webhook", "clientConfig", "caBundle"}));
  return {pem ? *pem : std::string()};
}

}  // namespace muster::reconcilers
