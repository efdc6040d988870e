// How a watch proves that nothing was missed.
#include <doctest/doctest.h>

#include "test/kube/watch_fixture.h"

namespace muster::kube::test::watch_catch_up_test {
namespace {

using namespace std::chrono_literals;

size_t short_watches(const FakeApiServer& server) {
  auto all = watches(server);
  return std::count_if(all.begin(), all.end(),
                       [](const FakeRequest& request) { return request.query.at("timeoutSeconds") == "3"; });
}

TEST_CASE("a watch that begins in a term has caught up with its first list") {
  FakeApiServer server(scripted([](int, const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.wait_for_close();
  }));
  TestWatch test(server, {}, 7);
  REQUIRE(eventually([&] { return watches(server).size() == 1; }));
  CHECK(test.sink.notes() == std::vector<std::string>{"list", "+a", "=10", "current 7"});
  CHECK(short_watches(server) == 0);
}

TEST_CASE("to catch up, a silent stream is left, and the bookmark of a short one comes after what was missed") {
  FakeApiServer server(scripted([](int attempt, const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    if (attempt == 1) {
      exchange.write_event("MODIFIED", object("a", "11"));
      exchange.write_event("BOOKMARK", object("", "12"));
      return exchange.end_stream();
    }
    exchange.wait_for_close();
  }));
  TestWatch test(server);
  REQUIRE(eventually([&] { return watches(server).size() == 1; }));
  test.watch.catch_up(1);
  REQUIRE(eventually([&] { return watches(server).size() == 3; }));
  CHECK(test.sink.notes() == std::vector<std::string>{"list", "+a", "=10", "modified a", "current 1"});
  CHECK(short_watches(server) == 1);
  CHECK(watches(server)[1].query.at("resourceVersion") == "10");
  CHECK(watches(server)[2].query.at("resourceVersion") == "12");
  CHECK(lists(server) == 1);
  // Again for the same term: it is known.
  test.watch.catch_up(1);
  CHECK(test.sink.notes().size() == 5);
}

TEST_CASE("a short stream without a bookmark proves something if the API server ended it, and nothing else does") {
  TestClient* clock = nullptr;
  std::atomic<bool> mended = false;
  FakeApiServer server(scripted([&](int attempt, const FakeRequest& request, FakeExchange& exchange) {
    if (attempt == 0) {
      exchange.begin_stream();
      return exchange.wait_for_close();
    }
    if (request.query.at("timeoutSeconds") != "3") {
      exchange.begin_stream();
      return exchange.wait_for_close();
    }
    if (!mended) {
      if (attempt % 3 == 0) return exchange.respond(500, status_body(500, "InternalError", "x"));
      exchange.begin_stream();
      return attempt % 3 == 1 ? exchange.break_off() : exchange.end_stream();
    }
    exchange.begin_stream();
    clock->time.advance(3s);
    exchange.end_stream();
  }));
  TestClient client(server);
  clock = &client;
  RecordingSink sink;
  Watch watch(*client.client, kQueues, {}, sink, client.observer, client.time.timing());
  REQUIRE(eventually([&] { return watches(server).size() == 1; }));
  watch.catch_up(1);
  REQUIRE(eventually([&] { return watches(server).size() >= 8; }));
  CHECK_FALSE(sink.has("current 1"));
  mended = true;
  CHECK(eventually([&] { return sink.has("current 1"); }));
}

TEST_CASE("a kind that is not served has caught up each time") {
  FakeApiServer server([](const FakeRequest& request, FakeExchange& exchange) {
    if (!answers_discovery(request, false, exchange)) exchange.respond_text(404, "404 page not found\n");
  });
  TestWatch test(server, {}, 1);
  REQUIRE(eventually([&] { return test.sink.has("current 1"); }));
  test.watch.catch_up(2);
  REQUIRE(eventually([&] { return test.sink.has("current 2"); }));
  CHECK(test.sink.notes() == std::vector<std::string>{"absent", "current 1", "current 2"});
}

}  // namespace
}  // namespace muster::kube::test::watch_catch_up_test
