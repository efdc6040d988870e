// What bounds a request: its time, the size of its answer, how many are under way, and the rate.
#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <nlohmann/json.hpp>

#include "kube/client.h"
#include "test/kube/client_fixture.h"

namespace muster::kube::test::client_bounds_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a silent server ends the request at its timeout") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) { exchange.wait_for_close(); });
  RecordingObserver observer;
  const Timing real{system_clock(), system_sleeper(), [] { return 0.5; }};
  const auto client = make_client(access_to(server), test_options(), real, observer);
  KubeRequest request;
  request.path = "/version";
  request.timeout = 100ms;
  request.repeatable = true;
  const auto answer = client->send(request, {});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().reason == kNoAnswerInTimeReason);
  CHECK(eventually([&] { return server.requests().size() == 1; }));
}

TEST_CASE("a server that trickles cannot stretch a request past its timeout") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    for (int i = 0; i < 100; ++i) {
      exchange.write(" ");
      std::this_thread::sleep_for(20ms);  // the fault itself, not a wait for anything
    }
    exchange.end_stream();
  });
  RecordingObserver observer;
  const Timing real{system_clock(), system_sleeper(), [] { return 0.5; }};
  const auto client = make_client(access_to(server), test_options(), real, observer);
  KubeRequest request;
  request.path = "/version";
  request.timeout = 200ms;
  const auto started = system_clock().now().monotonic;
  const auto answer = client->send(request, {});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().reason == kNoAnswerInTimeReason);
  CHECK(system_clock().now().monotonic - started < 1500ms);
}

TEST_CASE("a stop ends a request that waits for its answer") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) { exchange.wait_for_close(); });
  TestClient client(server);
  std::stop_source stop;
  std::optional<StatusError> error;
  std::jthread caller([&] {
    const auto answer = client->get(kJobs, "ns", "x", stop.get_token());
    if (!answer.ok()) error = answer.error();
  });
  REQUIRE(eventually([&] { return server.requests().size() == 1; }));
  stop.request_stop();
  caller.join();
  REQUIRE(error.has_value());
  CHECK(error->cancelled());
}

TEST_CASE("an answer larger than the bound is refused and not kept") {
  FakeApiServer server([](const FakeRequest& request, FakeExchange& exchange) {
    exchange.respond_text(200, request.path == "/small" ? "{}" : "{\"a\":\"" + std::string(5000, 'x') + "\"}");
  });
  ClientOptions options = test_options();
  options.max_answer_bytes = 4096;
  TestClient client(server, options);
  KubeRequest request;
  request.path = "/big";
  const auto answer = client->send(request, {});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().reason == kTooLargeReason);
  CHECK(answer.error().message.find("4096") != std::string::npos);
  request.path = "/small";
  CHECK(client->send(request, {}).ok());
}

TEST_CASE("no more requests than the bound are in flight") {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<bool> open = false;
  FakeApiServer server([&](const FakeRequest&, FakeExchange& exchange) {
    const int current = ++now;
    int seen = most;
    while (current > seen && !most.compare_exchange_weak(seen, current)) {
    }
    exchange.wait_for([&] { return open.load(); });
    --now;
    exchange.respond(200, object("x", "1"));
  });
  ClientOptions options = test_options();
  options.max_in_flight = 4;
  TestClient client(server, options);
  std::atomic<int> succeeded = 0;
  {
    std::vector<std::jthread> callers;
    std::latch all(12);
    for (int i = 0; i < 12; ++i) {
      callers.emplace_back([&] {
        all.arrive_and_wait();
        if (client->get(kJobs, "ns", "x").ok()) ++succeeded;
      });
    }
    REQUIRE(eventually([&] { return now == 4; }));
    open = true;
  }
  CHECK(succeeded == 12);
  CHECK(most == 4);
  CHECK(server.connections() == 4);
}

TEST_CASE("the default bound is 64 requests in flight") {
  CHECK(ClientOptions().max_in_flight == 64);
}

TEST_CASE("a stop ends the wait for a free place") {
  std::atomic<bool> open = false;
  FakeApiServer server([&](const FakeRequest&, FakeExchange& exchange) {
    exchange.wait_for([&] { return open.load(); });
    exchange.respond(200, object("x", "1"));
  });
  ClientOptions options = test_options();
  options.max_in_flight = 1;
  TestClient client(server, options);
  std::jthread holder([&] { CHECK(client->get(kJobs, "ns", "x").ok()); });
  REQUIRE(eventually([&] { return server.requests().size() == 1; }));
  std::stop_source stop;
  std::optional<bool> cancelled;
  std::jthread waiter([&] {
    const auto answer = client->get(kJobs, "ns", "y", stop.get_token());
    cancelled = !answer.ok() && answer.error().cancelled();
  });
  stop.request_stop();
  waiter.join();
  CHECK(cancelled == std::optional<bool>(true));
  CHECK(server.requests().size() == 1);
  open = true;
}

TEST_CASE("a rate limit spaces requests out and says so") {
  FakeApiServer server(kEcho);
  ClientOptions options = test_options();
  options.rate_limit = {50, 10};
  TestClient client(server, options);
  for (int i = 0; i < 60; ++i) REQUIRE(client->get(kJobs, "ns", "x").ok());
  CHECK(client.time.slept() >= 990ms);
  CHECK(client.time.slept() <= 1010ms);
  CHECK(client.observer.count("throttled") == 50);
}

}  // namespace
}  // namespace muster::kube::test::client_bounds_test
