#include "kube/watch.h"

#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/kube/watch_fixture.h"

namespace muster::kube::test::watch_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

TEST_CASE("a watch lists and then follows changes from the list's version") {
  FakeApiServer server(scripted([](int, const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.write_event("ADDED", object("b", "11"));
    exchange.write_event("MODIFIED", object("a", "12"));
    exchange.write_event("DELETED", object("b", "13"));
    exchange.wait_for_close();
  }));
  TestWatch test(server, {.label_selector = "x=y", .metadata_only = true});
  REQUIRE(eventually([&] { return test.sink.has("deleted b"); }));
  CHECK(test.watch.synced());
  CHECK(test.sink.notes() == std::vector<std::string>{"list", "+a", "=10", "added b", "modified a", "deleted b"});
  CHECK(test.sink.kind() == "kueue.x-k8s.io/v1beta2 LocalQueue");
  const auto asked = watches(server);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].path == "/apis/kueue.x-k8s.io/v1beta2/localqueues");
  CHECK(asked[0].query.at("resourceVersion") == "10");
  CHECK(asked[0].query.at("allowWatchBookmarks") == "true");
  CHECK(asked[0].query.at("labelSelector") == "x=y");
  CHECK(asked[0].query.at("timeoutSeconds") == "450");
  CHECK(asked[0].headers.at("accept") == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
}

TEST_CASE("a watch resumes after the last bookmark or event that it saw") {
  TestClient* clock = nullptr;
  FakeApiServer server(scripted([&](int attempt, const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    if (attempt == 0) exchange.write_event("BOOKMARK", object("", "50"));
    if (attempt == 1) exchange.write_event("MODIFIED", object("a", "60"));
    if (attempt == 2) exchange.break_off();
    if (attempt == 3) exchange.wait_for_close();
    clock->time.advance(7min);
    exchange.end_stream();
  }));
  TestClient client(server);
  clock = &client;
  RecordingSink sink;
  Watch watch(*client.client, kQueues, {}, sink, client.observer, client.time.timing());
  REQUIRE(eventually([&] { return watches(server).size() == 4; }));
  const auto asked = watches(server);
  CHECK(asked[0].query.at("resourceVersion") == "10");
  CHECK(asked[1].query.at("resourceVersion") == "50");
  CHECK(asked[2].query.at("resourceVersion") == "60");
  CHECK(asked[3].query.at("resourceVersion") == "60");
  CHECK(lists(server) == 1);
  CHECK(client.observer.count("reconnect: ") == 1);
}

TEST_CASE("a watch brings managedFields only where its selection says so") {
  const auto owned = [](const char* name, const char* version) {
    json item = object(name, version);
    item["metadata"]["managedFields"] = json::array({{{"manager", "kubectl"}}});
    return item;
  };
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (!is_watch(request)) return exchange.respond(200, list_of("10", {owned("a", "9")}));
    exchange.begin_stream();
    exchange.write_event("MODIFIED", owned("a", "11"));
    exchange.wait_for_close();
  });
  for (const bool wanted : {false, true}) {
    TestWatch test(server, {.managed_fields = wanted});
    REQUIRE(eventually([&] { return test.sink.has("modified a"); }));
    CHECK(test.sink.with_managed_fields() == (wanted ? 2 : 0));
  }
}

TEST_CASE("410 lists again whether it comes as an answer or in the stream") {
  FakeApiServer server(scripted([](int attempt, const FakeRequest&, FakeExchange& exchange) {
    const json gone = status_body(410, "Expired", "too old resource version");
    if (attempt == 0) return exchange.respond(410, gone);
    exchange.begin_stream();
    if (attempt == 1) exchange.write_event("ERROR", gone);
    exchange.wait_for_close();
  }));
  TestWatch test(server);
  REQUIRE(eventually([&] { return watches(server).size() == 3; }));
  CHECK(lists(server) == 3);
  CHECK(test.client.observer.count("list: too old resource version") == 2);
  CHECK(test.client.time.slept() >= 2s);  // a second between lists
  CHECK(test.client.time.slept() <= 3s);
}

TEST_CASE("a relist replaces what the list before it brought") {
  std::atomic<int> listed = 0;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (!is_watch(request)) {
      return exchange.respond(200,
                              ++listed == 1 ? list_of("10", {object("a", "9")}) : list_of("20", {object("c", "19")}));
    }
    if (request.query.at("resourceVersion") == "10") return exchange.respond(410, status_body(410, "Gone", "gone"));
    exchange.begin_stream();
    exchange.wait_for_close();
  });
  TestWatch test(server);
  REQUIRE(eventually([&] { return test.sink.has("=20"); }));
  CHECK(test.sink.notes() == std::vector<std::string>{"list", "+a", "=10", "list", "+c", "=20"});
}

TEST_CASE("watches that the server ends at once do not spin") {
  struct Row {
    std::string name;
    WatchScript script;
    size_t most_watches;
    size_t most_lists;
  };
  const Row rows[] = {
      {"closed without a word",
       [](int, const FakeRequest&, FakeExchange& exchange) { exchange.begin_stream(), exchange.end_stream(); }, 30, 1},
      {"closed after a bookmark",
       [](int, const FakeRequest&, FakeExchange& exchange) {
         exchange.begin_stream();
         exchange.write_event("BOOKMARK", object("", "50"));
         exchange.end_stream();
       },
       30, 1},
      {"broken off", [](int, const FakeRequest&, FakeExchange& exchange) { exchange.break_off(); }, 30, 1},
      {"refused with 500",
       [](int, const FakeRequest&, FakeExchange& exchange) {
         exchange.respond(500, status_body(500, "InternalError", "x"));
       },
       30, 1},
      {"expired every time",
       [](int, const FakeRequest&, FakeExchange& exchange) { exchange.respond(410, status_body(410, "Expired", "x")); },
       30, 30},
      {"bytes that are no event",
       [](int, const FakeRequest&, FakeExchange& exchange) {
         exchange.begin_stream();
         exchange.write("garbage\n");
         exchange.end_stream();
       },
       30, 30},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    FakeApiServer server(scripted(row.script));
    TestWatch test(server);
    REQUIRE(eventually([&] { return test.client.time.slept() > 10min; }));
    CHECK(watches(server).size() >= 20);
    CHECK(watches(server).size() <= row.most_watches);
    CHECK(lists(server) <= row.most_lists);
  }
}

TEST_CASE("a stream cut anywhere loses and repeats nothing") {
  std::string bytes;
  for (const char* name : {"b", "c", "d"}) {
    bytes += json({{"type", "ADDED"}, {"object", object(name, "11")}}).dump() + "\n";
  }
  FakeApiServer server(scripted([&](int, const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    for (const char byte : bytes) exchange.write({&byte, 1});
    exchange.wait_for_close();
  }));
  TestWatch test(server);
  REQUIRE(eventually([&] { return test.sink.has("added d"); }));
  CHECK(test.sink.notes() == std::vector<std::string>{"list", "+a", "=10", "added b", "added c", "added d"});
}

TEST_CASE("a kind that is not served is absent until it appears") {
  std::atomic<bool> served = false;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (answers_discovery(request, served, exchange)) return;
    if (!served) return exchange.respond_text(404, "404 page not found\n");
    if (!is_watch(request)) return exchange.respond(200, list_of("10", {object("a", "9")}));
    exchange.begin_stream();
    exchange.wait_for_close();
  });
  TestWatch test(server);
  REQUIRE(eventually([&] { return test.watch.synced(); }));
  REQUIRE(eventually([&] { return test.client.time.slept() >= 2min; }));
  CHECK(test.client.observer.count("absent") == 1);
  // The list and discovery each time, and once more at the beginning.
  CHECK(server.requests().size() <= 2 * static_cast<size_t>(test.client.time.slept() / 30s) + 6);
  served = true;
  REQUIRE(eventually([&] { return test.sink.has("=10"); }));
  CHECK(test.sink.notes() == std::vector<std::string>{"absent", "list", "+a", "=10"});
}

TEST_CASE("a kind whose CRD is removed becomes absent") {
  std::atomic<bool> served = true;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (answers_discovery(request, served, exchange)) return;
    if (!served) return exchange.respond_text(404, "404 page not found\n");
    if (!is_watch(request)) return exchange.respond(200, list_of("10", {object("a", "9")}));
    served = false;
    exchange.begin_stream();
    exchange.end_stream();
  });
  TestWatch test(server);
  REQUIRE(eventually([&] { return test.sink.has("absent"); }));
  CHECK(test.sink.notes() == std::vector<std::string>{"list", "+a", "=10", "absent"});
}

TEST_CASE("a kind that its check objects to is absent, is told once, and is asked about again") {
  std::atomic<int> asked = 0;
  std::atomic<bool> fits = false, known = false;
  FakeApiServer server(scripted([](int, const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.wait_for_close();
  }));
  TestWatch test(server, {}, 1, [&](std::stop_token) -> Result<std::string, StatusError> {
    ++asked;
    if (!known) return fail_with(unanswered("Unreachable", "no answer"));
    return std::string(fits ? "" : "no status.running");
  });
  // What cannot be asked is no answer: neither a list nor an absence.
  REQUIRE(eventually([&] { return asked >= 2; }));
  CHECK(test.sink.notes().empty());
  CHECK_FALSE(test.watch.synced());
  known = true;
  REQUIRE(eventually([&] { return test.watch.synced(); }));
  const int before = asked;
  REQUIRE(eventually([&] { return asked >= before + 3; }));
  CHECK(server.requests().empty());
  CHECK(test.client.observer.count("objected: no status.running") == 1);
  CHECK(test.sink.notes() == std::vector<std::string>{"absent", "current 1"});
  fits = true;
  REQUIRE(eventually([&] { return test.sink.has("=10"); }));
  CHECK(test.sink.notes() == std::vector<std::string>{"absent", "current 1", "list", "+a", "=10"});
  CHECK(test.client.observer.count("objected: ") ==
        2);  // once that there is something against it, once that there is not
}

TEST_CASE("a kind that its check objects to between two streams is absent from then on") {
  std::atomic<bool> fits = true;
  FakeApiServer server(scripted([&](int, const FakeRequest&, FakeExchange& exchange) {
    fits = false;
    exchange.begin_stream();
    exchange.end_stream();
  }));
  TestWatch test(server, {}, 0, [&](std::stop_token) -> Result<std::string, StatusError> {
    return std::string(fits ? "" : "no status.running");
  });
  REQUIRE(eventually([&] { return test.sink.has("absent"); }));
  CHECK(test.sink.notes() == std::vector<std::string>{"list", "+a", "=10", "absent"});
  CHECK(watches(server).size() == 1);
}

TEST_CASE("a missing right is told once in the server's words and then tried for") {
  std::atomic<bool> granted = false;
  const std::string words = "localqueues.kueue.x-k8s.io is forbidden: User \"m\" cannot list resource \"localqueues\"";
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (!granted) return exchange.respond(403, status_body(403, "Forbidden", words));
    if (!is_watch(request)) return exchange.respond(200, list_of("10", {}));
    exchange.begin_stream();
    exchange.wait_for_close();
  });
  TestWatch test(server);
  REQUIRE(eventually([&] { return test.client.time.slept() >= 5min; }));
  CHECK(test.client.observer.count("forbidden: " + words) == 1);
  CHECK_FALSE(test.watch.synced());
  CHECK(server.requests().size() <= 30);
  granted = true;
  CHECK(eventually([&] { return test.watch.synced(); }));
}

TEST_CASE("429 on a watch waits as long as the server asks and resumes") {
  FakeApiServer server(scripted([](int attempt, const FakeRequest&, FakeExchange& exchange) {
    if (attempt == 0)
      return exchange.respond(429, status_body(429, "TooManyRequests", "busy"), {{"Retry-After", "17"}});
    exchange.begin_stream();
    exchange.wait_for_close();
  }));
  TestWatch test(server);
  REQUIRE(eventually([&] { return watches(server).size() == 2; }));
  CHECK(test.client.time.sleeps() == std::vector<Duration>{17s});
  CHECK(lists(server) == 1);
}

TEST_CASE("a watch whose token is refused resumes with a fresh one and does not list again") {
  FakeApiServer server(scripted([](int attempt, const FakeRequest&, FakeExchange& exchange) {
    if (attempt == 0) return exchange.respond(401, status_body(401, "Unauthorized", "Unauthorized"));
    exchange.begin_stream();
    exchange.wait_for_close();
  }));
  TestWatch test(server);
  REQUIRE(eventually([&] { return watches(server).size() == 2; }));
  CHECK(watches(server)[1].query.at("resourceVersion") == "10");
  CHECK(lists(server) == 1);
}

TEST_CASE("a server behind the listed version is listed again") {
  FakeApiServer server(scripted([](int attempt, const FakeRequest&, FakeExchange& exchange) {
    if (attempt == 0) {
      json body = status_body(504, "Timeout", "Too large resource version");
      body["details"] = {
          {"causes", {{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}}}};
      return exchange.respond(504, body);
    }
    exchange.begin_stream();
    exchange.wait_for_close();
  }));
  TestWatch test(server);
  REQUIRE(eventually([&] { return watches(server).size() == 2; }));
  CHECK(lists(server) == 2);
}

TEST_CASE("a watch stops at once whatever it is doing") {
  struct Row {
    std::string name;
    FakeApiServer::Handler handler;
  };
  const Row rows[] = {
      {"while it waits for events", scripted([](int, const FakeRequest&, FakeExchange& exchange) {
         exchange.begin_stream();
         exchange.wait_for_close();
       })},
      {"while it waits for the watch to begin",
       scripted([](int, const FakeRequest&, FakeExchange& exchange) { exchange.wait_for_close(); })},
      {"while it lists", [](const FakeRequest&, FakeExchange& exchange) { exchange.wait_for_close(); }},
      {"while it waits to try again",
       [](const FakeRequest&, FakeExchange& exchange) { exchange.respond_text(404, ""); }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    FakeApiServer server(row.handler);
    RecordingObserver observer;
    const Timing real{system_clock(), system_sleeper(), [] { return 0.5; }};
    const auto client = make_client(access_to(server), test_options(), real, observer);
    RecordingSink sink;
    std::optional<Watch> watch;
    watch.emplace(*client, kQueues, Selection{}, sink, observer, real);
    const size_t expected = std::string_view(row.name).find("list") != std::string_view::npos ||
                                    std::string_view(row.name).find("again") != std::string_view::npos
                                ? 1
                                : 2;
    REQUIRE(eventually([&] { return server.requests().size() >= expected; }));
    const auto asked = system_clock().now().monotonic;
    watch.reset();
    CHECK(system_clock().now().monotonic - asked < 100ms);
  }
}

TEST_CASE("watches do not take the places of requests in flight") {
  FakeApiServer server(scripted([](int, const FakeRequest&, FakeExchange& exchange) {
    exchange.begin_stream();
    exchange.wait_for_close();
  }));
  ClientOptions options = test_options();
  options.max_in_flight = 1;
  TestClient client(server, options);
  RecordingSink sink;
  Watch one(*client.client, kQueues, {}, sink, client.observer, client.time.timing());
  Watch two(*client.client, kQueues, {}, sink, client.observer, client.time.timing());
  REQUIRE(eventually([&] { return watches(server).size() == 2; }));
  CHECK(client->get(kQueues, "ns", "x").ok());
}

}  // namespace
}  // namespace muster::kube::test::watch_test
