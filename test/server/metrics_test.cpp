#include "server/metrics/metrics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "server/metrics/client_metrics.h"
#include "server/metrics_server.h"
#include "test/server/test_server.h"

namespace metrics_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;
using namespace std::chrono_literals;

namespace {

MetricsOptions options() {
  MetricsOptions result;
  result.version = "1.2.3";
  result.rules = {"suspend"};
  return result;
}

void check_lines(const Metrics& metrics, const std::vector<std::string>& lines) {
  const auto text = metrics.expose();
  for (const auto& line : lines) {
    INFO(line);
    CHECK(text.find(line + "\n") != std::string::npos);
  }
}

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("A review is counted in muster's families and in the familiar ones") {
  Metrics metrics(options());
  const size_t path = metrics.path_index("/mutate");
  metrics.review_started(path);
  check_lines(metrics, {R"(controller_runtime_webhook_requests_in_flight{webhook="/mutate"} 1)"});
  const auto labels = metrics.labels(path, "Job", Operation::kCreate);
  metrics.rule_finished("suspend", labels, 4us);
  metrics.review_finished(labels, ReviewOutcome::kPatched, 200, 80us);
  check_lines(metrics,
              {R"(muster_webhook_requests_total{kind="Job",operation="CREATE",outcome="patched",path="/mutate"} 1)",
               R"(muster_webhook_request_duration_seconds_count{path="/mutate"} 1)",
               R"(muster_webhook_rule_duration_seconds_count{kind="Job",rule="suspend"} 1)",
               R"(controller_runtime_webhook_requests_total{code="200",webhook="/mutate"} 1)",
               R"(controller_runtime_webhook_latency_seconds_count{webhook="/mutate"} 1)",
               R"(controller_runtime_webhook_requests_in_flight{webhook="/mutate"} 0)",
               R"(muster_build_info{version="1.2.3"} 1)"});
}

TEST_CASE("Strangers cannot grow the exposition with names of their own") {
  Metrics metrics(options());
  const size_t path = metrics.path_index("/validate");
  const auto count = [&](const std::string& kind) {
    const auto labels = metrics.labels(path, kind, Operation::kUpdate);
    metrics.review_started(path);
    metrics.rule_finished("rule of " + kind, labels, 1us);
    metrics.review_finished(labels, ReviewOutcome::kAllowed, 200, 1us);
  };
  count("Kind0");
  const size_t before = lines_of(metrics.expose());
  for (int i = 1; i < 1000; ++i) count("Kind" + std::to_string(i));
  CHECK(lines_of(metrics.expose()) == before);
  check_lines(
      metrics,
      {R"(muster_webhook_requests_total{kind="other",operation="UPDATE",outcome="allowed",path="/validate"} 1000)",
       R"(muster_webhook_rule_duration_seconds_count{kind="other",rule="other"} 1000)"});
}

TEST_CASE("Certificate expiry and open connections are shown as they are when asked") {
  Metrics metrics(options());
  size_t open = 3;
  metrics.watch_connections("webhook", [&] { return open; });
  metrics.set_certificate_expiry(TimePoint(std::chrono::seconds(1'800'000'000)));
  check_lines(metrics, {R"(muster_open_connections{listener="webhook"} 3)",
                        "muster_certificate_expiry_timestamp_seconds 1800000000"});
  open = 5;
  check_lines(metrics, {R"(muster_open_connections{listener="webhook"} 5)"});
}

TEST_CASE("Many threads count without losing one") {
  Metrics metrics(options());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          const auto labels = metrics.labels(metrics.path_index("/mutate"), "JobSet", Operation::kCreate);
          metrics.review_started(labels.path);
          metrics.review_finished(labels, ReviewOutcome::kAllowed, 200, 1us);
        }
      });
    }
  }
  check_lines(
      metrics,
      {R"(muster_webhook_requests_total{kind="JobSet",operation="CREATE",outcome="allowed",path="/mutate"} 4000)"});
}

TEST_CASE("Metrics are given to those whom the authorizer lets in") {
  Metrics metrics(options());
  const auto authorize = [](std::string_view token) {
    if (token.empty()) return AuthDecision::kUnauthenticated;
    if (token == "down") return AuthDecision::kUnavailable;
    return token == "scraper" ? AuthDecision::kAllowed : AuthDecision::kForbidden;
  };
  auto tls = TlsContext::create({});
  const auto certificate = make_certificate("metrics");
  REQUIRE((*tls)->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
  HttpServerOptions server_options;
  server_options.bind_address = "127.0.0.1:0";
  server_options.tls = *tls;
  const auto own = [](std::string_view token) {
    return token == "for-muster" ? AuthDecision::kAllowed : AuthDecision::kForbidden;
  };
  MetricsServer server(server_options, metrics, {.bearer = authorize, .own = own});
  REQUIRE(server.start().ok());
  TestClient client(server.port());
  CHECK(client.exchange(get("/metrics"))->status == 401);
  CHECK(client.exchange(get("/metrics", "Authorization: Bearer other\r\n"))->status == 403);
  CHECK(client.exchange(get("/metrics", "Authorization: Bearer down\r\n"))->status == 503);
  // The API server's proxy takes the Authorization header: a token for muster alone comes in the other, and is judged
  // alone.
  CHECK(client.exchange(get("/metrics", "X-Muster-Token: for-muster\r\n"))->status == 200);
  CHECK(client.exchange(get("/metrics", "X-Muster-Token: scraper\r\n"))->status == 403);
  CHECK(client.exchange(get("/metrics", "Authorization: Bearer for-muster\r\n"))->status == 403);
  CHECK(client.exchange(get("/metrics", "Authorization: Bearer scraper\r\nX-Muster-Token: other\r\n"))->status == 403);
  const auto answer = client.exchange(get("/metrics", "Authorization: Bearer scraper\r\n"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(answer->headers.at("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(answer->body.find("muster_build_info") != std::string::npos);
}

TEST_CASE("Metrics: without a judge for them, tokens for muster are refused") {
  const Metrics metrics(options());
  const auto all = [](std::string_view) { return AuthDecision::kAllowed; };
  const Route route = metrics_route(metrics, {.bearer = all});
  CHECK(route.handler({.path = "/metrics", .query = "", .bearer_token = "t", .body = ""}).status == 200);
  CHECK(route.handler({.path = "/metrics", .query = "", .bearer_token = "t", .body = "", .own_token = "u"}).status ==
        401);
}

TEST_CASE("What the client does shows under the names of Kubernetes' components") {
  Metrics metrics(options());
  ClientMetrics client;
  client.request_done("GET", "10.0.0.1:443", "200", 3ms);
  client.set_leading("muster", false);
  CHECK(metrics.expose().find("rest_client") == std::string::npos);
  metrics.include(client.collectable());
  client.request_done("GET", "10.0.0.1:443", "200", 300ms);
  client.request_done("PATCH", "10.0.0.1:443", "<error>", 5s);
  client.event_done("created");
  check_lines(metrics, {R"(rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 2)",
                        R"(rest_client_requests_total{code="<error>",host="10.0.0.1:443",method="PATCH"} 1)",
                        R"(rest_client_request_duration_seconds_bucket{host="10.0.0.1:443",verb="GET",le="0.005"} 1)",
                        R"(rest_client_request_duration_seconds_bucket{host="10.0.0.1:443",verb="GET",le="0.5"} 2)",
                        R"(rest_client_request_duration_seconds_count{host="10.0.0.1:443",verb="PATCH"} 1)",
                        R"(leader_election_master_status{name="muster"} 0)",
                        R"(muster_events_total{outcome="created"} 1)", R"(muster_build_info{version="1.2.3"} 1)"});
  client.set_leading("muster", true);
  check_lines(metrics, {R"(leader_election_master_status{name="muster"} 1)"});
}

}  // namespace metrics_test
