#include "reconcilers/webhooks/conversion_webhook.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/encoding.h"

namespace conversion_webhook_test {

using namespace muster;
using namespace muster::reconcilers;
using nlohmann::json;

namespace {

json definition(const json& conversion) {
  return {{"metadata",
           {{"name", "workloads.kueue.x-k8s.io"},
            {"resourceVersion", "42"},
            {"labels", {{"app.kubernetes.io/name", "muster"}}}}},
          {"spec", {{"conversion", conversion}}}};
}

json by_webhook(const json& client_config) {
  return {{"strategy", "Webhook"},
          {"webhook", {{"conversionReviewVersions", {"v1"}}, {"clientConfig", client_config}}}};
}

json service(const char* ns = "muster-system") {
  return {{"service", {{"name", "muster-conversion-service"}, {"namespace", ns}, {"path", "/convert"}, {"port", 443}}}};
}

json with_bundle(json client_config, const char* pem) {
  client_config["caBundle"] = base64_encode(pem);
  return client_config;
}

// What the API server makes of a definition and a patch.
json patched(json live, const std::optional<json>& patch) {
  if (patch) live.merge_patch(*patch);
  return live["spec"]["conversion"];
}

}  // namespace

TEST_CASE("conversion webhook: every difference is mended and then nothing is left to do") {
  manifests::WebhookRegistration elsewhere;
  elsewhere.own_namespace = "queues";
  manifests::WebhookRegistration outside;
  outside.url = "https://10.0.0.5:9443";
  const struct {
    const char* name;
    json live;
    manifests::WebhookRegistration registration;
    json wanted;
  } rows[] = {
      {"a definition as it is installed gets the bundle",
       by_webhook(service()),
       {},
       by_webhook(with_bundle(service(), "PEM"))},
      {"another bundle is replaced",
       by_webhook(with_bundle(service(), "OLD")),
       {},
       by_webhook(with_bundle(service(), "PEM"))},
      {"the Service is the one of muster's own namespace", by_webhook(with_bundle(service(), "PEM")), elsewhere,
       by_webhook(with_bundle(service("queues"), "PEM"))},
      {"outside the cluster a URL takes the Service's place", by_webhook(with_bundle(service(), "PEM")), outside,
       by_webhook(with_bundle({{"url", "https://10.0.0.5:9443/convert"}}, "PEM"))},
      {"back in the cluster the Service takes the URL's place",
       by_webhook({{"url", "https://10.0.0.5/convert"}}),
       {},
       by_webhook(with_bundle(service(), "PEM"))},
      {"a definition without conversion would lose data and gets one",
       {{"strategy", "None"}},
       {},
       by_webhook(with_bundle(service(), "PEM"))},
  };
  for (const auto& row : rows) {
    INFO(std::string(row.name));
    json live = definition(row.live);
    const auto patch = reconcile_conversion(live, row.registration, "PEM");
    REQUIRE(patch.has_value());
    CHECK(patch->at("metadata").at("resourceVersion") == "42");
    live["spec"]["conversion"] = patched(live, patch);
    CHECK(live["spec"]["conversion"] == row.wanted);
    CHECK_FALSE(reconcile_conversion(live, row.registration, "PEM").has_value());
  }
}

TEST_CASE("conversion webhook: a definition of somebody else is neither written nor read") {
  json foreign = definition(by_webhook(service()));
  foreign["metadata"]["labels"]["app.kubernetes.io/name"] = "kueue";
  CHECK_FALSE(reconcile_conversion(foreign, {}, "PEM").has_value());
  CHECK(conversion_bundles_of(foreign).empty());
  CHECK(conversion_bundles_of(json()).empty());
}

TEST_CASE("conversion webhook: where somebody else injects their bundle stays") {
  json live = definition(by_webhook(with_bundle(service("elsewhere"), "THEIRS")));
  const auto patch = reconcile_conversion(live, {}, "");
  REQUIRE(patch.has_value());
  CHECK(patched(live, patch) == by_webhook(with_bundle(service(), "THEIRS")));
  CHECK_FALSE(reconcile_conversion(definition({{"strategy", "None"}}), {}, "").has_value());
}

TEST_CASE("conversion webhook: the bundle is read back as PEM and a missing one is empty") {
  using Bundles = std::vector<std::string>;
  CHECK(conversion_bundles_of(definition(by_webhook(with_bundle(service(), "PEM")))) == Bundles{"PEM"});
  CHECK(conversion_bundles_of(definition(by_webhook(service()))) == Bundles{""});
  CHECK(conversion_bundles_of(definition({{"strategy", "None"}})) == Bundles{""});
}

}  // namespace conversion_webhook_test
