#include "reconcilers/webhooks/api_service.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/encoding.h"
#include "manifests/api_services.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

bool is_own(const json& service) {
  return label(service, manifests::kAppNameLabel) == manifests::kAppName;
}

}  // namespace

std::optional<json> reconcile_api_service(const json& live, const manifests::WebhookRegistration& registration,
                                          const std::string& ca_bundle_pem) {
  if (!is_own(live)) return std::nullopt;
  json spec = json::object();
  const json& service = object_at(live, {"spec", "service"});
  if (const json wanted = manifests::api_service_reference(registration); registration.url.empty() && service != wanted)
    spec["service"] = wanted;
  if (!ca_bundle_pem.empty() && string_at(live, {"spec", "caBundle"}) != base64_encode(ca_bundle_pem))
    spec["caBundle"] = base64_encode(ca_bundle_pem);
  // The API server accepts no bundle together with insecureSkipTLSVerify, and would trust any server.
  if (!ca_bundle_pem.empty() && bool_at(live, {"spec", "insecureSkipTLSVerify"})) {
    spec["insecureSkipTLSVerify"] = nullptr;
    spec["caBundle"] = base64_encode(ca_bundle_pem);
  }
  if (spec.empty()) return std::nullopt;
  return json{{"metadata", {{"resourceVersion", string_at(live, {"metadata", "resourceVersion"})}}},
              {"spec", std::move(spec)}};
}

std::vector<std::string> api_service_bundles_of(const json& live) {
  if (!is_own(live)) return {};
  // A text that is not base64 is not a valid bundle: it counts as missing.
  auto pem = base64_decode(string_at(live, {"spec", "caBundle"}));
  return {pem ? *pem : std::string()};
}

}  // namespace muster::reconcilers
