#include "server/convert_handler.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "server/transport/request_head.h"
#include "test/server/test_server.h"

namespace convert_handler_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;
using nlohmann::json;

namespace {

struct Fixture {
  bool shows(const std::string& line) const { return metrics.expose().find(line + "\n") != std::string::npos; }

  RecordingEvents events;
  Metrics metrics{MetricsOptions{}};
  ConvertHandler handler{metrics, &events};
};

json queue(const std::string& name) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta1"},
          {"kind", "ClusterQueue"},
          {"metadata", {{"name", name}}},
          {"spec", {{"cohort", "all"}}}};
}

std::string review_of(json objects) {
  const json review = {
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "ConversionReview"},
      {"request",
       {{"uid", "705ab4f5"}, {"desiredAPIVersion", "kueue.x-k8s.io/v1beta2"}, {"objects", std::move(objects)}}}};
  return review.dump();
}

// A review of one object with an annotation of this many bytes. Put together as text:
// tests are compiled without optimisation, and JSON of this size would take seconds.
std::string large_review(size_t bytes) {
  json large = queue("large");
  large["metadata"]["annotations"]["text"] = "@";
  std::string text = review_of(json::array({large}));
  return text.replace(text.find('@'), 1, std::string(bytes, 'x'));
}

bool succeeded(const std::string& answer, size_t bytes) {
  return answer.size() > bytes && answer.find("\"status\":\"Success\"") != std::string::npos;
}

}  // namespace

TEST_CASE("A conversion is answered under its uid and counted by kind") {
  Fixture f;
  const auto response = f.handler.convert(review_of({queue("a"), queue("b")}));
  CHECK(response.status == 200);
  CHECK(response.content_type == "application/json");
  const json answer = json::parse(response.body)["response"];
  CHECK(answer["uid"] == "705ab4f5");
  CHECK(answer["result"]["status"] == "Success");
  REQUIRE(answer["convertedObjects"].size() == 2);
  CHECK(answer["convertedObjects"][1]["spec"]["cohortName"] == "all");
  CHECK(f.shows(
      R"(muster_webhook_requests_total{kind="ClusterQueue",operation="unknown",outcome="converted",path="/convert"} 1)"));
  CHECK(f.shows(R"(controller_runtime_webhook_requests_total{code="200",webhook="/convert"} 1)"));
}

TEST_CASE("A conversion that fails says so in the review and in the log and is counted") {
  Fixture f;
  json broken = queue("broken");
  broken["spec"] = "x";
  const auto response = f.handler.convert(review_of({broken}));
  CHECK(response.status == 200);
  const json answer = json::parse(response.body)["response"];
  CHECK(answer["result"]["status"] == "Failure");
  CHECK(answer["result"]["message"].get<std::string>().find("ClusterQueue broken") == 0);
  CHECK(f.events.wait_for(ServerEvent::kConversionFailed, "ClusterQueue broken"));
  CHECK(f.shows(
      R"(muster_webhook_requests_total{kind="ClusterQueue",operation="unknown",outcome="failed",path="/convert"} 1)"));
}

TEST_CASE("What is no conversion review gets a plain HTTP error and no guess") {
  Fixture f;
  const auto response = f.handler.convert("{");
  CHECK(response.status == 400);
  CHECK(response.body.find("ConversionReview") != std::string::npos);
  CHECK(f.shows(
      R"(muster_webhook_requests_total{kind="other",operation="unknown",outcome="bad_request",path="/convert"} 1)"));
}

TEST_CASE("Conversions are for strangers too, because the API server shows no certificate there") {
  const Fixture fixture;
  const auto routes = fixture.handler.routes();
  REQUIRE(routes.size() == 1);
  CHECK(routes[0].strangers);
}

TEST_CASE("Large conversions from several threads are all answered") {
  Fixture f;
  constexpr size_t kBytes = 5 * 1024 * 1024;  // more than any single object has
  const std::string body = large_review(kBytes);
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (succeeded(f.handler.convert(body).body, kBytes)) ++answered;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(answered == 4);
}

TEST_CASE("The path of conversions takes bodies that no other path takes and refuses more than its own limit") {
  Fixture f;
  const Routes routes = f.handler.routes();
  REQUIRE(routes.size() == 1);
  const auto head = [&](size_t length) {
    return "POST /convert HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(length) + "\r\n\r\n";
  };
  const HttpLimits limits;
  CHECK(kMaxConversionBytes > limits.max_body_bytes);
  CHECK(parse_head(head(kMaxConversionBytes), routes, limits).ok());
  const auto refused = parse_head(head(kMaxConversionBytes + 1), routes, limits);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().status == 413);

  const Routes reviews = {{HttpMethod::kPost, "/convert", [](const HttpRequest&) { return HttpResponse{}; }}};
  CHECK_FALSE(parse_head(head(limits.max_body_bytes + 1), reviews, limits).ok());
}

TEST_CASE("A list of the largest size that is taken fits the buffers of the server beside it") {
  Fixture f;
  HttpServerOptions options;
  options.bind_address = "127.0.0.1:0";
  // It is about memory: converting so much takes seconds of computing, and many more on a busy machine.
  options.timeouts.request = options.timeouts.response = options.timeouts.turn = std::chrono::seconds(100);
  HttpServer server(options, f.handler.routes());
  REQUIRE(server.start().ok());
  // Just below the limit: a buffer of twice the size would be more than all can hold.
  constexpr size_t kBytes = kMaxConversionBytes - 4096;
  const std::string body = large_review(kBytes);
  REQUIRE(2 * body.size() > options.limits.max_buffered_bytes);
  TestClient client(server.port(), Wire::kPlain);
  client.wait_up_to(std::chrono::seconds(100));
  const auto answer =
      client.exchange("POST /convert HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " +
                      std::to_string(body.size()) + "\r\n\r\n" + body);
  REQUIRE(answer);
  CHECK(answer->status == 200);
  CHECK(succeeded(answer->body, kBytes));
}

}  // namespace convert_handler_test
