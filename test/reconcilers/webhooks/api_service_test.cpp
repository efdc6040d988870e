#include "reconcilers/webhooks/api_service.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "manifests/api_services.h"
#include "reconcilers/webhooks/webhook_config_reconciler.h"

namespace api_service_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

manifests::WebhookRegistration registration() {
  manifests::WebhookRegistration made;
  made.visibility_port = 8082;
  return made;
}

// As `muster manifests` makes it and the API server has it, with that bundle.
json live(const char* bundle = nullptr) {
  json service = manifests::api_services(registration()).front();
  service["metadata"]["resourceVersion"] = "42";
  if (bundle != nullptr) service["spec"]["caBundle"] = base64_encode(bundle);
  return service;
}

json patched(json service, const std::optional<json>& patch) {
  if (patch) service.merge_patch(*patch);
  return service;
}

TypedObject plain(const json& service) {
  return read_object(manifests::kApiServices, service);
}

}  // namespace

TEST_CASE("APIService: every difference is corrected and then nothing is left to do") {
  json other_service = live("PEM"), insecure = live();
  other_service["spec"]["service"] = {{"namespace", "kueue-system"}, {"name", "visibility-server"}, {"port", 443}};
  insecure["spec"]["insecureSkipTLSVerify"] = true;
  const json wanted = live("PEM");
  for (const json& found : {live(), live("OLD"), other_service, insecure}) {
    const auto patch = reconcile_api_service(found, registration(), "PEM");
    REQUIRE(patch.has_value());
    CHECK((*patch)["metadata"]["resourceVersion"] == "42");
    const json after = patched(found, patch);
    CHECK(after == wanted);
    CHECK_FALSE(reconcile_api_service(after, registration(), "PEM").has_value());
  }
}

TEST_CASE("APIService: one that is not muster's is left alone and its bundle is not read") {
  json kueues = live();
  kueues["metadata"]["labels"] = {{"app.kubernetes.io/name", "kueue"}};
  CHECK_FALSE(reconcile_api_service(kueues, registration(), "PEM").has_value());
  CHECK(api_service_bundles_of(kueues).empty());
  CHECK(api_service_bundles_of(live("PEM")) == std::vector<std::string>{"PEM"});
  CHECK(api_service_bundles_of(live()) == std::vector<std::string>{""});
}

TEST_CASE("APIService: a bundle that another program injects stays, and outside of the cluster so does the Service") {
  CHECK_FALSE(reconcile_api_service(live("THEIRS"), registration(), "").has_value());
  manifests::WebhookRegistration outside = registration();
  outside.url = "https://10.0.0.5:9443";
  json found = live();
  found["spec"]["service"] = {{"namespace", "here"}, {"name", "mine"}, {"port", 1}};
  const json after = patched(found, reconcile_api_service(found, outside, "PEM"));
  CHECK(after["spec"]["service"] == found["spec"]["service"]);
  CHECK(after["spec"]["caBundle"] == base64_encode("PEM"));
}

TEST_CASE("APIService: the keeper writes the issued bundle into it and counts what it holds") {
  WebhookConfigReconciler keeper(registration(), true, 1s);
  CHECK(WebhookConfigReconciler::keeps(manifests::kApiServices, "v1beta1.visibility.kueue.x-k8s.io"));
  const json service = live("OLD");
  const std::string name = service["metadata"]["name"];
  keeper.relist(manifests::kApiServices, name, {plain(service)});
  CHECK(keeper.live_bundles() == std::vector<std::string>{"OLD"});
  keeper.issue_bundle("PEM");
  const auto writes = keeper.plan(nullptr, Now{});
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].target == ObjectKey{&manifests::kApiServices, "", name});
  CHECK(writes[0].body["spec"]["caBundle"] == base64_encode("PEM"));
  // One that is away is not missed: it was possibly deleted so that namespaces can be.
  keeper.relist(manifests::kApiServices, name, {});
  CHECK(keeper.take_missing(MonotonicTime{}).value_or(std::vector<ObjectKey>{}).empty());
}

TEST_CASE("APIService: where the visibility API is not aggregated the keeper writes none") {
  WebhookConfigReconciler keeper(manifests::WebhookRegistration{}, true, 1s);
  const json service = live();
  keeper.relist(manifests::kApiServices, service["metadata"]["name"].get<std::string>(), {plain(service)});
  keeper.issue_bundle("PEM");
  CHECK(keeper.plan(nullptr, Now{}).empty());
}

}  // namespace api_service_test
