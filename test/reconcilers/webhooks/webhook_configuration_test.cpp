#include "reconcilers/webhooks/webhook_configuration.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/encoding.h"

namespace webhook_configuration_test {

using namespace muster;
using namespace muster::reconcilers;
using nlohmann::json;

namespace {

json live_configuration(manifests::WebhookKind kind, const manifests::WebhookRegistration& registration,
                        const std::string& bundle) {
  json live = manifests::webhook_configuration(kind, registration);
  live["metadata"]["resourceVersion"] = "42";
  live["webhooks"] = manifests::webhook_entries(kind, registration, {}, bundle);
  return live;
}

json local_queue(const char* ns, const char* name) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "LocalQueue"},
          {"metadata", {{"namespace", ns}, {"name", name}}},
          {"spec", {{"clusterQueue", "cq"}}}};
}

}  // namespace

TEST_CASE("webhook configuration: what is as it should be is not written") {
  for (manifests::WebhookKind kind : {manifests::WebhookKind::kMutating, manifests::WebhookKind::kValidating}) {
    const json live = live_configuration(kind, {}, "PEM");
    CHECK_FALSE(reconcile_webhook_configuration(live, {}, {}, "PEM").has_value());
  }
}

TEST_CASE("webhook configuration: every difference is mended under the version that was read") {
  ClusterView view;
  view.put(local_queue("team-b", "default"));
  view.put(local_queue("team-a", "default"));
  view.put(local_queue("team-c", "other"));
  manifests::WebhookRegistration managing;
  managing.manage_jobs_without_queue_name = true;

  const json live = live_configuration(manifests::WebhookKind::kMutating, {}, "PEM");
  json edited = live;
  edited["webhooks"][0]["failurePolicy"] = "Ignore";
  struct Row {
    std::string name;
    const json& live;
    const ClusterView& view;
    manifests::WebhookRegistration registration;
    const char* bundle;
  };
  const ClusterView empty;
  const Row rows[] = {
      {"another bundle", live, empty, {}, "OTHER"},
      {"a namespace got a default queue", live, view, {}, "PEM"},
      {"jobs without a queue are managed now", live, empty, managing, "PEM"},
      {"somebody edited an entry", edited, empty, {}, "PEM"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    auto patch = reconcile_webhook_configuration(row.live, row.view, row.registration, row.bundle);
    REQUIRE(patch.has_value());
    CHECK((*patch)["metadata"] == json{{"resourceVersion", "42"}});
    json mended = row.live;
    mended.merge_patch(*patch);
    CHECK_FALSE(reconcile_webhook_configuration(mended, row.view, row.registration, row.bundle).has_value());
  }
}

TEST_CASE("webhook configuration: the default queue entry names exactly the namespaces that have one") {
  ClusterView view;
  view.put(local_queue("team-b", "default"));
  view.put(local_queue("team-a", "default"));
  view.put(local_queue("team-c", "other"));
  const json live = live_configuration(manifests::WebhookKind::kValidating, {}, "PEM");
  const json webhooks = (*reconcile_webhook_configuration(live, view, {}, "PEM"))["webhooks"];
  const auto found = std::find_if(webhooks.begin(), webhooks.end(), [](const json& webhook) {
    return webhook.value("/namespaceSelector/matchExpressions/0/operator"_json_pointer, "") == "In";
  });
  REQUIRE(found != webhooks.end());
  CHECK((*found)["namespaceSelector"]["matchExpressions"][0] ==
        json::parse(R"({"key":"kubernetes.io/metadata.name","operator":"In","values":["team-a","team-b"]})"));
}

TEST_CASE("webhook configuration: without a bundle of ours the injected ones stay") {
  json live = live_configuration(manifests::WebhookKind::kMutating, {}, "THEIRS");
  CHECK_FALSE(reconcile_webhook_configuration(live, {}, {}, "").has_value());
  live["webhooks"][0]["timeoutSeconds"] = 30;
  const auto patch = reconcile_webhook_configuration(live, {}, {}, "");
  REQUIRE(patch.has_value());
  CHECK((*patch)["webhooks"][0]["clientConfig"]["caBundle"] == base64_encode("THEIRS"));
}

TEST_CASE("webhook configuration: bundles are told apart and none is one of them") {
  json live = live_configuration(manifests::WebhookKind::kMutating, {}, "A");
  CHECK(ca_bundles_of(live) == std::vector<std::string>{"A"});
  live["webhooks"].push_back({{"name", "x"}});
  CHECK(ca_bundles_of(live) == std::vector<std::string>{"", "A"});
  CHECK(ca_bundles_of(nullptr).empty());
}

}  // namespace webhook_configuration_test
