#include "reconcilers/webhooks/webhook_configuration.h"

#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "base/encoding.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// Another component injects bundles into entries by their name. A new entry uses the bundle of the other
// entries until then.
void keep_bundles(const json& live, json& wanted) {
  for (json& entry : wanted) {
    std::string bundle;
    for (const json& old : array_at(live, {"webhooks"})) {
      const std::string_view theirs = string_at(old, {"clientConfig", "caBundle"});
      const bool same = string_at(old, {"name"}) == string_at(entry, {"name"});
      if (same || bundle.empty()) bundle = theirs;
      if (same) break;
    }
    if (!bundle.empty()) entry["clientConfig"]["caBundle"] = bundle;
  }
}

}  // namespace

std::optional<json> reconcile_webhook_configuration(const json& live, const ClusterView& view,
                                                    const manifests::WebhookRegistration& registration,
                                                    const std::string& ca_bundle_pem) {
  const manifests::WebhookKind kind = string_at(live, {"kind"}) == "MutatingWebhookConfiguration"
                                          ? manifests::WebhookKind::kMutating
                                          : manifests::WebhookKind::kValidating;
  json wanted = manifests::webhook_entries(kind, registration, view.namespaces_with_default_queue(), ca_bundle_pem);
  if (ca_bundle_pem.empty()) keep_bundles(live, wanted);
  if (array_at(live, {"webhooks"}) == wanted) return std::nullopt;
  return json{{"metadata", {{"resourceVersion", string_at(live, {"metadata", "resourceVersion"})}}},
              {"webhooks", std::move(wanted)}};
}

std::vector<std::string> ca_bundles_of(const json& configuration) {
  std::set<std::string> bundles;
  for (const json& entry : array_at(configuration, {"webhooks"})) {
    // A text that is not base64 is not a valid bundle: it counts as missing.
    auto pem = base64_decode(string_at(entry, {"clientConfig", "caBundle"}));
    bundles.insert(pem ? *pem : std::string());
  }
  return {bundles.begin(), bundles.end()};
}

}  // namespace muster::reconcilers
