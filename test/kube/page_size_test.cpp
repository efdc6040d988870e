#include "kube/page_size.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/kube/client_fixture.h"

namespace muster::kube::test::page_size_test {

using nlohmann::json;

TEST_CASE("pages grow while objects are small and shrink when they are not") {
  PageSize size;
  CHECK(size.limit() == PageSize::kFirst);
  size.came(20, 20 * 1000);
  CHECK(size.limit() == 80);
  size.came(80, 80 * 1000);
  size.came(320, 320 * 1000);
  CHECK(size.limit() == PageSize::kMost);
  size.came(500, 500 * 100'000);
  CHECK(size.limit() == 20);
  size.came(20, 20 * 3'000'000);
  CHECK(size.limit() == 1);
  size.came(0, 100);
  CHECK(size.limit() == 1);
  CHECK_FALSE(size.was_too_large());
}

TEST_CASE("a list of large objects is read in pages of a few megabytes and loses none") {
  // Small ones first, so that pages have grown when the large ones come.
  constexpr size_t kSmall = 1000, kLarge = 40;
  const std::string ballast(1'000'000, 'x');
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    const size_t first = request.query.contains("continue") ? std::stoul(request.query.at("continue")) : 0;
    const size_t end = std::min(kSmall + kLarge, first + std::stoul(request.query.at("limit")));
    json items = json::array();
    for (size_t i = first; i < end; ++i) {
      json item = object("o" + std::to_string(i), "9");
      if (i >= kSmall) item["data"] = ballast;
      items.push_back(std::move(item));
    }
    const std::string next = end == kSmall + kLarge ? "" : std::to_string(end);
    const json page = {
        {"kind", "JobList"}, {"metadata", {{"resourceVersion", "10"}, {"continue", next}}}, {"items", items}};
    exchange.respond(200, page);
  });
  TestClient client(server);
  std::vector<std::string> names;
  ListHandler handler;
  handler.started = [&] { names.clear(); };
  handler.item = [&](json& item) { names.emplace_back(string_at(item, {"metadata", "name"})); };
  const auto listed = client->list(kJobs, {}, handler);
  REQUIRE_MESSAGE(listed.ok(), listed.error().message);
  REQUIRE(names.size() == kSmall + kLarge);
  for (size_t i = 0; i < names.size(); ++i) REQUIRE(names[i] == "o" + std::to_string(i));
  CHECK(server.requests().size() < 60);
}

TEST_CASE("an answer to a page is not read beyond its bound") {
  std::atomic<int> limit = 0;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    limit = std::stoi(request.query.at("limit"));
    json items = json::array();
    for (int i = 0; i < limit; ++i) {
      json item = object("o" + std::to_string(i), "9");
      item["data"] = std::string(PageSize::kMostBytes / 3, 'x');
      items.push_back(std::move(item));
    }
    exchange.respond(200, {{"kind", "JobList"}, {"metadata", {{"resourceVersion", "10"}}}, {"items", items}});
  });
  TestClient client(server);
  int items = 0;
  ListHandler handler{.started = [] {}, .item = [&](json&) { ++items; }};
  REQUIRE(client->list(kJobs, {}, handler).ok());
  CHECK(items == limit);
  CHECK(limit == 1);
}

TEST_CASE("a list whose pages expire is not read in one piece of any size") {
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (request.query.contains("continue"))
      return exchange.respond(410, {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}, {"message", "too old"}});
    json page = {{"kind", "JobList"}, {"metadata", {{"resourceVersion", "10"}}}, {"items", {object("a", "1")}}};
    if (request.query.contains("limit")) {
      page["metadata"]["continue"] = "more";
      return exchange.respond(200, page);
    }
    page["items"][0]["data"] = std::string(9 * PageSize::kMostBytes, 'x');
    exchange.respond(200, page);
  });
  TestClient client(server);
  int items = 0;
  const auto listed = client->list(kJobs, {}, {.started = [&] { items = 0; }, .item = [&](json&) { ++items; }});
  REQUIRE_FALSE(listed.ok());
  CHECK(listed.error().reason == kTooLargeReason);
  CHECK(items == 1);
}

TEST_CASE("a write of a leader is waited for until its term ends and no longer") {
  std::atomic<bool> asked = false;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    // The server is to give up too.
    asked = request.query.contains("timeout") && std::stoi(request.query.at("timeout")) <= 1000;
    exchange.wait_for_close();
  });
  RecordingObserver observer;
  const Timing real{system_clock(), system_sleeper(), [] { return 0.5; }};
  const auto client = make_client(access_to(server), test_options(), real, observer);
  const MonotonicTime before = system_clock().now().monotonic;
  const auto answer = client->create(kJobs, "ns", object("a", ""), {.not_after = before + std::chrono::seconds(1)});
  REQUIRE_FALSE(answer.ok());
  CHECK(asked);
  CHECK(answer.error().unanswered());
  CHECK(system_clock().now().monotonic - before < std::chrono::seconds(15));
}

}  // namespace muster::kube::test::page_size_test
