#include "kube/events/event_recorder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/codec/utf8.h"
#include "test/kube/client_fixture.h"
#include "test/kube/manual_time.h"

namespace muster::kube::test::event_recorder_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

ObjectEvent event_about(const std::string& name, const std::string& note = "all pods have started") {
  return {.regarding = {.api_version = "batch/v1",
                        .kind = "Job",
                        .ns = "team-a",
                        .name = name,
                        .uid = "uid-of-" + name,
                        .resource_version = "17"},
          .type = "Normal",
          .reason = "GroupStarted",
          .action = "Start",
          .note = note};
}

using Handler = FakeApiServer::Handler;

void accept(const FakeRequest& request, FakeExchange& exchange) {
  exchange.respond(request.method == "POST" ? 201 : 200, json::object());
}

struct TestRecorder {
  explicit TestRecorder(Handler handler = accept)
      : server(std::move(handler)), client(make_client(access_to(server), test_options(), time.timing(), observer)) {
    options.instance = "muster-0_1234";
    recorder.emplace(*client, options, observer, time.timing());
  }
  ~TestRecorder() { recorder.reset(); }

  void record(const ObjectEvent& event) { recorder->record(event); }
  bool idle() const { return time.asleep_for().has_value(); }
  void pass(Duration duration) {
    REQUIRE(eventually([&] { return idle(); }));
    time.advance(duration);
    REQUIRE(eventually([&] { return idle(); }));
  }
  bool heard(const std::string& outcome, size_t times = 1) const {
    return eventually([&] { return observer.count("event: " + outcome) == times; });
  }

  ManualTime time;
  RecordingObserver observer;
  FakeApiServer server;
  std::unique_ptr<KubeClient> client;
  EventOptions options;
  std::optional<EventRecorder> recorder;
};

TEST_CASE("an event becomes an object of events.k8s.io with all that it asks for") {
  TestRecorder test;
  test.record(event_about("a"));
  REQUIRE(test.heard("created"));
  const auto requests = test.server.requests();
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].method == "POST");
  CHECK(requests[0].path == "/apis/events.k8s.io/v1/namespaces/team-a/events");
  const json body = json::parse(requests[0].body);
  CHECK(body["apiVersion"] == "events.k8s.io/v1");
  CHECK(body["kind"] == "Event");
  CHECK(body["metadata"] == json{{"name", "a.18d75b8423f30000"}, {"namespace", "team-a"}});
  CHECK(body["eventTime"] == "2026-09-21T14:13:20.000000Z");
  CHECK(body["reportingController"] == "muster");
  CHECK(body["reportingInstance"] == "muster-0_1234");
  CHECK(body["regarding"] == json{{"apiVersion", "batch/v1"},
                                  {"kind", "Job"},
                                  {"namespace", "team-a"},
                                  {"name", "a"},
                                  {"uid", "uid-of-a"},
                                  {"resourceVersion", "17"}});
  CHECK(body["type"] == "Normal");
  CHECK(body["reason"] == "GroupStarted");
  CHECK(body["action"] == "Start");
  CHECK(body["note"] == "all pods have started");
  CHECK_FALSE(body.contains("series"));
}

TEST_CASE("events about cluster-scoped objects go to the namespace default") {
  EventRecord record{.event = event_about("crd"), .name = "crd.1"};
  record.event.regarding.ns.clear();
  record.event.action.clear();
  const json body = event_body(record, {});
  CHECK(body["metadata"]["namespace"] == "default");
  CHECK_FALSE(body["regarding"].contains("namespace"));
  CHECK(body["action"] == "GroupStarted");  // it is required
}

TEST_CASE("texts are cut to what the API server accepts and never inside a character") {
  struct Row {
    std::string name;
    std::string note;
    size_t bytes;
  };
  const Row rows[] = {
      {"what fits stays", std::string(1024, 'x'), 1024},
      {"one byte too many", std::string(1025, 'x'), 1024},
      {"a character of three bytes across the limit", std::string(1022, 'x') + "\xe2\x82\xac\xe2\x82\xac", 1022},
      {"a character of four bytes that ends at the limit", std::string(1020, 'x') + "\xf0\x9f\x98\x80y", 1024},
      {"bytes that are no UTF-8 grow when they are replaced", std::string(1023, '\xff'), 1023},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const json body = event_body({.event = event_about("a", row.note), .name = "a.1"}, {});
    const auto note = body["note"].get<std::string>();
    CHECK(note.size() == row.bytes);
    CHECK(find_invalid_utf8(note) == std::string::npos);
  }
  EventOptions options;
  options.instance = std::string(300, 'i');
  CHECK(event_body({.event = event_about("a"), .name = "a.1"}, options)["reportingInstance"] == std::string(128, 'i'));
}

TEST_CASE("a thousand repetitions cost three requests") {
  TestRecorder test;
  for (int i = 0; i < 1000; ++i) {
    test.record(event_about("a"));
    if (i % 100 == 0) REQUIRE(eventually([&] { return test.idle(); }));
  }
  REQUIRE(test.heard("counted", 998));
  test.pass(5min);
  REQUIRE(test.heard("patched", 2));
  test.pass(1min);
  const auto requests = test.server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[1].method == "PATCH");
  CHECK(requests[1].path == "/apis/events.k8s.io/v1/namespaces/team-a/events/a.18d75b8423f30000");
  CHECK(requests[1].headers.at("content-type") == "application/merge-patch+json");
  CHECK(json::parse(requests[1].body) ==
        json{{"series", {{"count", 2}, {"lastObservedTime", "2026-09-21T14:13:20.000000Z"}}}});
  CHECK(json::parse(requests[2].body)["series"]["count"] == 1000);
}

TEST_CASE("a series whose Event has expired is created anew") {
  TestRecorder test([](const FakeRequest& request, FakeExchange& exchange) {
    if (request.method == "PATCH") return exchange.respond(404, status_body(404, "NotFound", "gone"));
    accept(request, exchange);
  });
  test.record(event_about("a"));
  test.record(event_about("a"));
  REQUIRE(test.heard("created", 2));
  const auto requests = test.server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(json::parse(requests[2].body)["series"]["count"] == 2);
  CHECK(json::parse(requests[2].body)["eventTime"] == json::parse(requests[0].body)["eventTime"]);
}

TEST_CASE("what cannot be written is dropped and told with its reason") {
  json terminating = status_body(403, "Forbidden", "unable to create new content in namespace team-a");
  terminating["details"] = {{"causes", {{{"reason", "NamespaceTerminating"}, {"message", "being terminated"}}}}};
  struct Row {
    std::string name;
    int code;
    json status;
    std::string told;
  };
  const Row rows[] = {
      {"a namespace that is being deleted, silently", 403, terminating, "event: namespace_gone"},
      {"a namespace that is gone", 404, status_body(404, "NotFound", "namespaces \"team-a\" not found"),
       "event: namespace_gone"},
      {"a missing right", 403, status_body(403, "Forbidden", "cannot create resource \"events\""),
       "event: refused: cannot create resource \"events\""},
      {"an Event that the server finds invalid", 422, status_body(422, "Invalid", "note: too long"),
       "event: refused: note: too long"},
      {"the one that an unanswered try has created", 409, status_body(409, "AlreadyExists", "exists"),
       "event: created"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    TestRecorder test([&](const FakeRequest&, FakeExchange& exchange) { exchange.respond(row.code, row.status); });
    test.record(event_about("a"));
    REQUIRE(eventually([&] { return !test.observer.notes().empty(); }));
    CHECK(test.observer.notes() == std::vector<std::string>{row.told});
    CHECK(test.server.requests().size() == 1);
  }
}

TEST_CASE("the events of a namespace that is gone do not delay those of others") {
  std::atomic<bool> all_wait = false;
  TestRecorder test([&](const FakeRequest& request, FakeExchange& exchange) {
    exchange.wait_for([&] { return all_wait.load(); });
    if (request.path.find("team-a") == std::string::npos) return accept(request, exchange);
    exchange.respond(404, status_body(404, "NotFound", "namespaces \"team-a\" not found"));
  });
  for (int i = 0; i < 200; ++i) test.record(event_about("job-" + std::to_string(i)));
  ObjectEvent of_another = event_about("b");
  of_another.regarding.ns = "team-b";
  test.record(of_another);
  all_wait = true;
  REQUIRE(test.heard("created"));
  REQUIRE(test.heard("namespace_gone", 200));
  CHECK(test.server.requests().size() == 2);

  // A namespace of this name can be created again, so later events are tried.
  test.record(event_about("later"));
  REQUIRE(test.heard("namespace_gone", 201));
  CHECK(test.server.requests().size() == 3);
}

TEST_CASE("a proxy that answers 404 costs one event, and not those of the whole namespace") {
  std::atomic<bool> all_wait = false;
  std::atomic<int> pages = 1;
  TestRecorder test([&](const FakeRequest& request, FakeExchange& exchange) {
    exchange.wait_for([&] { return all_wait.load(); });
    if (pages-- > 0) return exchange.respond_text(404, "<html>not found</html>");
    accept(request, exchange);
  });
  for (int i = 0; i < 3; ++i) test.record(event_about("job-" + std::to_string(i)));
  all_wait = true;
  REQUIRE(test.heard("created", 2));
  CHECK(test.server.requests().size() == 3);
  CHECK(test.observer.count("event: namespace_gone") == 0);
}

TEST_CASE("an event waits for an API server that does not answer but not for ever") {
  std::atomic<int> failures = 0;
  TestRecorder test([&](const FakeRequest& request, FakeExchange& exchange) {
    if (failures-- > 0) return exchange.break_off();
    accept(request, exchange);
  });
  SUBCASE("it comes back") {
    failures = 3;
    test.record(event_about("a"));
    for (int i = 0; i < 3; ++i) {
      REQUIRE(eventually([&] { return test.time.asleep_for() == Duration(10s); }));
      test.time.advance(10s);
    }
    REQUIRE(test.heard("created"));
    const auto requests = test.server.requests();
    CHECK(requests.size() == 4);
    CHECK(requests[0].body == requests[3].body);  // the same Event, at the time when it happened
  }
  SUBCASE("it does not") {
    failures = 1000;
    test.record(event_about("a"));
    for (int i = 1; i < EventRecorder::kMaxTries; ++i) {
      REQUIRE(eventually([&] { return test.time.asleep_for() == Duration(10s); }));
      test.time.advance(10s);
    }
    REQUIRE(test.heard("unanswered"));
    CHECK(test.server.requests().size() == EventRecorder::kMaxTries);
    failures = 0;
  }
}

TEST_CASE("a flood pushes out the oldest and holds nobody up") {
  std::atomic<bool> stuck = true;
  TestRecorder test([&](const FakeRequest& request, FakeExchange& exchange) {
    exchange.wait_for([&] { return !stuck; });
    accept(request, exchange);
  });
  test.record(event_about("first"));
  REQUIRE(eventually([&] { return test.server.requests().size() == 1; }));
  const auto before = system_clock().now().monotonic;
  for (int i = 0; i < 1500; ++i) test.record(event_about("job-" + std::to_string(i)));
  CHECK(system_clock().now().monotonic - before < 1s);
  CHECK(test.observer.count("event: queue_full") == 500);
  stuck = false;
  REQUIRE(test.heard("created", 500));
  test.pass(11s);
  REQUIRE(test.heard("created", 1001));
  std::set<std::string> names;
  for (const auto& request : test.server.requests()) {
    names.insert(json::parse(request.body)["regarding"]["name"].get<std::string>());
  }
  CHECK(names.size() == 1001);
  CHECK(names.contains("first"));
  CHECK_FALSE(names.contains("job-499"));
  CHECK(names.contains("job-500"));
}

TEST_CASE("past a burst of 500 there are 50 requests a second and no more") {
  TestRecorder test;
  for (int i = 0; i < 1000; ++i) test.record(event_about("job-" + std::to_string(i)));
  REQUIRE(test.heard("created", 500));
  test.pass(0s);
  CHECK(test.server.requests().size() == 500);
  for (const size_t sent : {550, 600, 650}) {
    test.pass(1s);
    CHECK(test.server.requests().size() == sent);
  }
  test.pass(7s);
  CHECK(test.server.requests().size() == 1000);
  CHECK(test.observer.count("event: created") == 1000);
  // A quiet hour buys one burst and no second one.
  test.pass(1h);
  for (int i = 0; i < 600; ++i) test.record(event_about("later-" + std::to_string(i)));
  REQUIRE(test.heard("created", 1500));
  test.pass(0s);
  CHECK(test.server.requests().size() == 1500);
}

TEST_CASE("events give way to an API server that takes long to answer") {
  std::atomic<Duration> took{100ms};
  std::optional<TestRecorder> test;
  test.emplace([&](const FakeRequest& request, FakeExchange& exchange) {
    test->time.advance(took.load());
    accept(request, exchange);
  });
  for (int i = 0; i < 4; ++i) test->record(event_about("job-" + std::to_string(i)));
  REQUIRE(test->heard("created", 1));
  REQUIRE(eventually([&] { return test->time.asleep_for() == Duration(300ms); }));
  test->time.advance(299ms);
  CHECK(test->server.requests().size() == 1);
  took = 6s;
  test->time.advance(1ms);
  REQUIRE(test->heard("created", 2));
  // Not for ever, however long that was.
  REQUIRE(eventually([&] { return test->time.asleep_for() == Duration(EventRecorder::kRetryPeriod); }));
  took = 0s;
  test->time.advance(EventRecorder::kRetryPeriod);
  REQUIRE(test->heard("created", 4));
}

TEST_CASE("what the rate holds back is dropped from the oldest on and counted") {
  TestRecorder test;
  for (int i = 0; i < 501; ++i) test.record(event_about("job-" + std::to_string(i)));
  REQUIRE(test.heard("created", 500));
  test.pass(0s);
  // One is held in the hand; a thousand wait, and 200 are too many.
  for (int i = 501; i < 1701; ++i) test.record(event_about("job-" + std::to_string(i)));
  CHECK(test.observer.count("event: queue_full") == 200);
  test.pass(5s);
  CHECK(test.server.requests().size() == 750);
  std::set<std::string> names;
  for (const auto& request : test.server.requests()) {
    names.insert(json::parse(request.body)["regarding"]["name"].get<std::string>());
  }
  CHECK(names.contains("job-500"));
  CHECK_FALSE(names.contains("job-501"));
  CHECK_FALSE(names.contains("job-700"));
  CHECK(names.contains("job-701"));
  // The end sends no more than the rate allows either.
  test.recorder.reset();
  CHECK(test.server.requests().size() == 750);
  CHECK(test.observer.count("event: unanswered") == 751);
}

TEST_CASE("the end writes what waits and finishes the series") {
  std::atomic<bool> stuck = true;
  std::optional<TestRecorder> test;
  test.emplace([&](const FakeRequest& request, FakeExchange& exchange) {
    if (stuck) return exchange.wait_for_close();
    accept(request, exchange);
  });
  for (int i = 0; i < 5; ++i) test->record(event_about("a"));
  test->record(event_about("b"));
  REQUIRE(eventually([&] { return test->server.requests().size() == 1; }));
  stuck = false;
  test->recorder.reset();
  CHECK(test->observer.count("event: created") == 2);
  const auto requests = test->server.requests();
  REQUIRE(requests.size() == 5);  // the one that was cut short, again, and its series twice
  CHECK(requests[1].body == requests[0].body);
  CHECK(json::parse(requests[4].body)["series"]["count"] == 5);
}

TEST_CASE("the end does not wait for an API server that is down") {
  std::optional<TestRecorder> test;
  test.emplace([&](const FakeRequest&, FakeExchange& exchange) { exchange.break_off(); });
  for (int i = 0; i < 100; ++i) test->record(event_about("job-" + std::to_string(i)));
  REQUIRE(eventually([&] { return test->time.asleep_for() == Duration(10s); }));
  const auto before = system_clock().now().monotonic;
  test->recorder.reset();
  CHECK(system_clock().now().monotonic - before < 1s);
  CHECK(test->server.requests().size() <= 3);
  CHECK(test->observer.count("event: unanswered") == 100);
}

}  // namespace
}  // namespace muster::kube::test::event_recorder_test
