// The process in each of its modes begins and ends, again and again: no thread calls a part that is not there yet, or
// not any more. With a sanitizer more often: there it finds what a run without one does not show.
#include "commands/serve/serve_process.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "test/kube/fake_api_server.h"
#include "test/support/soak.h"
#include "test/support/temporary_folder.h"

namespace serve_process_test {

using namespace muster;
using namespace muster::commands;
using namespace muster::kube::test;
using nlohmann::json;

namespace {

constexpr int kTimes = test::kSanitized ? 60 : 10;

ServeFlags flags_of_test() {
  ServeFlags flags;
  flags.webhook_bind_address = "127.0.0.1:0";
  flags.health_probe_bind_address = "0";
  flags.metrics_bind_address = "127.0.0.1:0";
  flags.own_namespace = "muster-system";
  return flags;
}

void begin_and_end(const ServeFlags& flags) {
  auto settings = runtime::load_settings(flags.settings, flags.own_namespace);
  REQUIRE_MESSAGE(settings.ok(), settings.error().message);
  ServeProcess process(flags, std::move(*settings));
  const auto started = process.start();
  REQUIRE_MESSAGE(started.ok(), started.error().message);
  process.stop();
}

std::string kubeconfig_of(const std::string& server) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
         "clusters: [{name: c, cluster: {server: '" +
         server + "'}}]\nusers: [{name: u, user: {}}]\n";
}

json not_found(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return {{"kind", "Status"},           {"apiVersion", "v1"},
          {"status", "Failure"},        {"code", 404},
          {"reason", "NotFound"},       {"message", name + " not found"},
          {"details", {{"name", name}}}};
}

// Every kind is served and has no objects; what is created is as it was sent.
void serve_empty_cluster(const FakeRequest& request, FakeExchange& exchange) {
  if (request.query.contains("watch")) {
    exchange.begin_stream();
    return exchange.wait_for_close();
  }
  if (request.path.ends_with("/selfsubjectreviews"))
    return exchange.respond(201, {{"status", {{"userInfo", {{"username", "system:serviceaccount:m:muster"}}}}}});
  if (request.method == "POST") {
    json made = json::parse(request.body, nullptr, false);
    made["metadata"]["resourceVersion"] = "7";
    return exchange.respond(201, made);
  }
  const bool names_object =
      request.path.find("/leases/") != std::string::npos || request.path.find("definitions/") != std::string::npos ||
      request.path.find("configurations/") != std::string::npos || request.path.find("/secrets/") != std::string::npos;
  if (request.method != "GET" || names_object) return exchange.respond(404, not_found(request.path));
  exchange.respond(
      200,
      {{"kind", "List"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "5"}}}, {"items", json::array()}});
}

}  // namespace

TEST_CASE("serve process: without a cluster it begins and ends") {
  ServeFlags flags = flags_of_test();
  flags.standalone = true;
  for (int i = 0; i < kTimes; ++i) begin_and_end(flags);
}

TEST_CASE("serve process: it ends while it waits for the API server") {
  const test::TemporaryFile kubeconfig(kubeconfig_of("http://127.0.0.1:1"));
  ServeFlags flags = flags_of_test();
  flags.kubeconfig = kubeconfig.path();
  for (int i = 0; i < kTimes; ++i) begin_and_end(flags);
}

TEST_CASE("serve process: it ends at any moment of its beginning in a cluster") {
  FakeApiServer server(serve_empty_cluster);
  const test::TemporaryFile kubeconfig(kubeconfig_of(server.url()));
  ServeFlags flags = flags_of_test();
  flags.kubeconfig = kubeconfig.path();
  for (int i = 0; i < kTimes; ++i) {
    auto settings = runtime::load_settings(flags.settings, flags.own_namespace);
    REQUIRE(settings.ok());
    ServeProcess process(flags, std::move(*settings));
    REQUIRE(process.start().ok());
    // Each run has some more requests behind it than the one before.
    const size_t before = server.requests().size();
    CHECK(eventually([&] { return server.requests().size() >= before + static_cast<size_t>(i % 20) * 3; }));
    process.stop();
  }
}

TEST_CASE("serve process: settings that exclude each other are refused by name") {
  ServeFlags flags = flags_of_test();
  flags.standalone = true;
  flags.record_file = "recording";
  auto settings = runtime::load_settings(flags.settings, flags.own_namespace);
  REQUIRE(settings.ok());
  ServeProcess process(flags, std::move(*settings));
  const auto started = process.start();
  REQUIRE_FALSE(started.ok());
  CHECK(started.error().message.starts_with("--record: "));
}

}  // namespace serve_process_test
