#include "server/review_handler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "test/server/test_server.h"

namespace review_handler_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;
using nlohmann::json;

namespace {

struct Fixture {
  Fixture() {
    MetricsOptions options;
    options.rules = {"rule"};
    metrics = std::make_unique<Metrics>(std::move(options));
    handler = std::make_unique<ReviewHandler>([] { return std::make_shared<const RuleSettings>(); },
                                              [this] { return view; }, *metrics, &events);
  }

  bool shows(const std::string& line) const { return metrics->expose().find(line + "\n") != std::string::npos; }

  ClusterViewPtr view = std::make_shared<const ClusterView>();
  RecordingEvents events;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<ReviewHandler> handler;
};

json review_of_job() {
  return json::parse(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
    "uid":"705ab4f5-6393-11e8-b7cc-42010a800002","kind":{"group":"batch","version":"v1","kind":"Job"},
    "resource":{"group":"batch","version":"v1","resource":"jobs"},"name":"a","namespace":"ns","operation":"CREATE",
    "userInfo":{"username":"eve"},"dryRun":false,
    "object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"ns"},"spec":{}},"oldObject":null}})");
}

AdmissionResponse allow(const Review& review, RuleObserver* observer) {
  observer->started("rule");
  observer->finished("rule", RuleOutcome::kUnchanged);
  return AdmissionResponse::allowed(review.request);
}

}  // namespace

TEST_CASE("A review is answered with its own uid and its rules are timed") {
  Fixture f;
  const auto response = f.handler->review(allow, "/mutate", review_of_job().dump());
  CHECK(response.status == 200);
  CHECK(response.content_type == "application/json");
  const auto answer = json::parse(response.body);
  CHECK(answer["response"]["uid"] == "705ab4f5-6393-11e8-b7cc-42010a800002");
  CHECK(answer["response"]["allowed"] == true);
  CHECK(f.shows(R"(muster_webhook_requests_total{kind="Job",operation="CREATE",outcome="allowed",path="/mutate"} 1)"));
  CHECK(f.shows(R"(muster_webhook_rule_duration_seconds_count{kind="Job",rule="rule"} 1)"));
}

TEST_CASE("A patch and a denial are counted as such") {
  Fixture f;
  const auto patch = [](const Review& review, RuleObserver*) {
    auto object = review.request.object;
    object["spec"]["suspend"] = true;
    return AdmissionResponse::patched(review.request, object);
  };
  const auto deny = [](const Review& review, RuleObserver*) {
    return AdmissionResponse::denied(review.request, {required("spec.queueName", "name a queue")});
  };
  const auto patched = json::parse(f.handler->review(patch, "/mutate", review_of_job().dump()).body);
  CHECK(patched["response"]["patchType"] == "JSONPatch");
  const auto denied = json::parse(f.handler->review(deny, "/validate", review_of_job().dump()).body);
  CHECK(denied["response"]["allowed"] == false);
  CHECK(f.shows(R"(muster_webhook_requests_total{kind="Job",operation="CREATE",outcome="patched",path="/mutate"} 1)"));
  CHECK(f.shows(R"(muster_webhook_requests_total{kind="Job",operation="CREATE",outcome="denied",path="/validate"} 1)"));
}

TEST_CASE("Dry-run is the same code") {
  Fixture f;
  auto review = review_of_job();
  const auto wet = f.handler->review(allow, "/mutate", review.dump());
  review["request"]["dryRun"] = true;
  CHECK(f.handler->review(allow, "/mutate", review.dump()).body == wet.body);
}

TEST_CASE("Before the first sync a review is refused as unavailable") {
  Fixture f;
  f.view = nullptr;
  const auto response = f.handler->review(allow, "/validate", review_of_job().dump());
  CHECK(response.status == 200);
  const auto answer = json::parse(response.body);
  CHECK(answer["response"]["uid"] == "705ab4f5-6393-11e8-b7cc-42010a800002");
  CHECK(answer["response"]["allowed"] == false);
  CHECK(answer["response"]["status"]["code"] == 503);
  CHECK(f.shows(
      R"(muster_webhook_requests_total{kind="Job",operation="CREATE",outcome="unavailable",path="/validate"} 1)"));
}

TEST_CASE("A rule that throws costs its own request and nothing else") {
  Fixture f;
  const auto fault = [](const Review&, RuleObserver*) -> AdmissionResponse { throw std::runtime_error("boom"); };
  const auto response = f.handler->review(fault, "/mutate", review_of_job().dump());
  CHECK(response.status == 500);
  CHECK(response.body == "internal error\n");
  CHECK(f.events.wait_for(ServerEvent::kHandlerFailed, "boom"));
  CHECK(f.shows(R"(muster_webhook_requests_total{kind="Job",operation="CREATE",outcome="error",path="/mutate"} 1)"));
  CHECK(f.shows(R"(controller_runtime_webhook_requests_in_flight{webhook="/mutate"} 0)"));
}

TEST_CASE("Bodies that are no review get an HTTP error over a real connection and it stays usable") {
  struct Row {
    std::string name;
    std::string body;
  };
  auto wrong_version = review_of_job();
  wrong_version["apiVersion"] = "admission.k8s.io/v1beta1";
  auto no_uid = review_of_job();
  no_uid["request"].erase("uid");
  const std::string whole = review_of_job().dump();
  std::string twice = whole;
  twice.insert(1, R"("kind":"AdmissionReview",)");
  std::string invalid_utf8 = whole;
  invalid_utf8.replace(invalid_utf8.find("eve"), 3, "\xff\xfe!");
  const auto nested = [&](size_t depth) {
    auto deep = whole;
    const std::string key = "\"spec\":{";
    deep.insert(deep.find(key) + key.size(), "\"x\":" + std::string(depth, '[') + std::string(depth, ']'));
    return deep;
  };
  const Row rows[] = {
      {"nothing", ""},
      {"no JSON", "hello"},
      {"truncated", whole.substr(0, whole.size() / 2)},
      {"trailing bytes", whole + "x"},
      {"an array", "[]"},
      {"wrong version", wrong_version.dump()},
      {"no uid", no_uid.dump()},
      {"a key twice", twice},
      {"invalid UTF-8", invalid_utf8},
      {"nested 20,000 deep", nested(20'000)},
      {"nested a million deep", nested(1'000'000)},
  };
  Fixture f;
  auto tls = TlsContext::create({});
  const auto certificate = make_certificate("reviews");
  REQUIRE((*tls)->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:0";
  options.tls = *tls;
  HttpServer server(options, {{HttpMethod::kPost, "/mutate", [&](const HttpRequest& request) {
                                 return f.handler->review(allow, "/mutate", request.body);
                               }}});
  REQUIRE(server.start().ok());
  TestClient client(server.port());
  for (const auto& row : rows) {
    INFO(row.name);
    const auto answer = client.exchange(post("/mutate", row.body));
    REQUIRE(answer);
    CHECK(answer->status >= 400);
    CHECK(answer->status < 500);
    CHECK(answer->body.size() > 10);
  }
  CHECK(client.exchange(post("/mutate", whole))->status == 200);
  CHECK(f.shows(
      R"(muster_webhook_requests_total{kind="other",operation="unknown",outcome="bad_request",path="/mutate"} 11)"));
}

TEST_CASE("An unknown kind is reviewed and counted as other") {
  Fixture f;
  auto review = review_of_job();
  review["request"]["kind"]["kind"] = "Mystery";
  CHECK(f.handler->review(allow, "/mutate", review.dump()).status == 200);
  CHECK(
      f.shows(R"(muster_webhook_requests_total{kind="other",operation="CREATE",outcome="allowed",path="/mutate"} 1)"));
}

TEST_CASE("The routes are the two webhooks and run the real rules") {
  Fixture f;
  const auto routes = f.handler->routes();
  REQUIRE(routes.size() == 2);
  CHECK(routes[0].path == "/mutate");
  CHECK(routes[1].path == "/validate");
  const auto body = review_of_job().dump();
  for (const auto& route : routes) {
    INFO(route.path);
    CHECK(route.method == HttpMethod::kPost);
    const auto response = route.handler(HttpRequest{route.path, "timeout=5s", "", body});
    CHECK(response.status == 200);
    CHECK(json::parse(response.body)["response"]["allowed"] == true);
  }
  CHECK_FALSE(all_rule_names().empty());
  const std::vector<std::string> kinds = all_reviewed_kinds();
  for (const char* kind : {"Job", "JobSet", "Workload", "ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor",
                           "AdmissionCheck", "RayJob"})
    CHECK_MESSAGE(std::find(kinds.begin(), kinds.end(), kind) != kinds.end(), kind);
}

}  // namespace review_handler_test
