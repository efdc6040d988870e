#include "kube/client.h"

#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/kube/client_fixture.h"
#include "test/support/temporary_folder.h"

namespace muster::kube::test::client_test {
namespace {

using muster::test::TemporaryFolder;
using namespace std::chrono_literals;
using nlohmann::json;

const Resource kConfigMaps{"", "v1", "configmaps", true, "ConfigMap"};

TEST_CASE("each verb sends its method, path, query, content type and body") {
  FakeApiServer server(kEcho);
  TestClient client(server);
  const json body = {{"data", {{"a", "b"}}}};
  REQUIRE(client->get(kConfigMaps, "ns", "one").ok());
  REQUIRE(client->create(kConfigMaps, "ns", body, {.field_manager = "muster", .dry_run = true}).ok());
  REQUIRE(client->update(kConfigMaps, "ns", "one", body).ok());
  REQUIRE(client->patch_merge(kJobs, "ns", "j", body, {.subresource = "status", .metadata_only = true}).ok());
  REQUIRE(client->remove(kConfigMaps, "ns", "one", {.propagation = "Background", .uid = "u1"}).ok());
  REQUIRE(client->remove(kConfigMaps, "ns", "one", {.version = "7"}).ok());

  const auto sent = server.requests();
  REQUIRE(sent.size() == 6);
  const std::string one = "/api/v1/namespaces/ns/configmaps/one";
  CHECK((sent[0].method == "GET" && sent[0].path == one && sent[0].body.empty()));
  CHECK((sent[1].method == "POST" && sent[1].path == "/api/v1/namespaces/ns/configmaps"));
  CHECK(sent[1].query == std::map<std::string, std::string>{{"fieldManager", "muster"}, {"dryRun", "All"}});
  CHECK(sent[1].headers.at("content-type") == "application/json");
  CHECK(json::parse(sent[1].body) == body);
  CHECK((sent[2].method == "PUT" && sent[2].path == one));
  CHECK((sent[3].method == "PATCH" && sent[3].path == "/apis/batch/v1/namespaces/ns/jobs/j/status"));
  CHECK(sent[3].headers.at("content-type") == "application/merge-patch+json");
  CHECK(sent[3].headers.at("accept") == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  CHECK(sent[2].headers.at("accept") == "application/json");
  CHECK(sent[4].method == "DELETE");
  CHECK(json::parse(sent[4].body)["preconditions"] == json{{"uid", "u1"}});
  CHECK(json::parse(sent[4].body)["propagationPolicy"] == "Background");
  CHECK(json::parse(sent[5].body)["preconditions"] == json{{"resourceVersion", "7"}});
  CHECK_FALSE(json::parse(sent[5].body).contains("propagationPolicy"));
  for (const auto& request : sent) CHECK(request.headers.at("user-agent") == "muster/test");
}

TEST_CASE("managedFields come only where a request asks for them") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) {
    json answer = object("one", "1");
    answer["metadata"]["managedFields"] = json::array({{{"manager", "kubectl"}}});
    exchange.respond(200, answer);
  });
  TestClient client(server);
  const auto without = client->patch_merge(kConfigMaps, "ns", "one", json::object());
  REQUIRE(without.ok());
  CHECK_FALSE(without->at("metadata").contains("managedFields"));
  const auto with = client->patch_merge(kConfigMaps, "ns", "one", json::object(), {.managed_fields = true});
  REQUIRE(with.ok());
  CHECK(with->at("metadata").at("managedFields").at(0).at("manager") == "kubectl");
}

TEST_CASE("requests are made in the name of whoever is impersonated") {
  FakeApiServer server(kEcho);
  VirtualTime time;
  RecordingObserver observer;
  ClusterAccess access = access_to(server);
  access.impersonate_user = "jane";
  access.impersonate_groups = {"team"};
  const auto client = make_client(std::move(access), test_options(), time.timing(), observer);
  REQUIRE(client->get(kConfigMaps, "ns", "one").ok());
  const auto sent = server.requests();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].headers.at("impersonate-user") == "jane");
  CHECK(sent[0].headers.at("impersonate-group") == "team");
}

TEST_CASE("a shorter timeout for all requests ends one that is not answered") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) { exchange.wait_for_close(); });
  const Timing real{system_clock(), system_sleeper(), [] { return 0.5; }};
  RecordingObserver observer;
  ClientOptions options = test_options();
  options.request_timeout = 50ms;
  const auto client = make_client(access_to(server), options, real, observer);
  KubeRequest request;
  request.path = "/version";
  request.once = true;
  const auto answer = client->send(request, {});
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().reason == kNoAnswerInTimeReason);
}

TEST_CASE("requests in a row share one connection and are counted by code") {
  FakeApiServer server([](const FakeRequest& request, FakeExchange& exchange) {
    exchange.respond(request.path.ends_with("/none") ? 404 : 200, status_body(404, "NotFound", "not there"));
  });
  TestClient client(server);
  for (int i = 0; i < 5; ++i) REQUIRE(client->get(kConfigMaps, "ns", "one").ok());
  const auto none = client->get(kConfigMaps, "ns", "none");
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().not_found());
  CHECK(none.error().reason == "NotFound");
  CHECK(server.connections() == 1);
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  CHECK(client.observer.done("GET " + host + " 200") == 5);
  CHECK(client.observer.done("GET " + host + " 404") == 1);
}

TEST_CASE("a prefix in the server's address comes before every path") {
  FakeApiServer server(kEcho);
  VirtualTime time;
  RecordingObserver observer;
  ClusterAccess access = access_to(server);
  access.server += "/k8s/c-1/";
  REQUIRE(make_client(access, test_options(), time.timing(), observer)->get(kConfigMaps, "ns", "one").ok());
  CHECK(server.requests()[0].path == "/k8s/c-1/api/v1/namespaces/ns/configmaps/one");
}

TEST_CASE("lists come in pages and carry selectors and the metadata-only form") {
  FakeApiServer server([](const FakeRequest& request, FakeExchange& exchange) {
    const bool second = request.query.contains("continue");
    json page = {
        {"kind", "JobList"}, {"metadata", {{"resourceVersion", "77"}}}, {"items", {object(second ? "b" : "a", "1")}}};
    if (!second) page["metadata"]["continue"] = "next/+=";
    exchange.respond(200, page);
  });
  TestClient client(server);
  std::vector<std::string> names;
  const auto version =
      client->list(kJobs, {.ns = "ns", .label_selector = "a in (b)", .field_selector = "x=y", .metadata_only = true},
                   {[&] { names.emplace_back("start"); },
                    [&](json& item) {
                      names.emplace_back(string_at(item, {"metadata", "name"}));
                    }});
  REQUIRE(version.ok());
  CHECK(*version == "77");
  CHECK(names == std::vector<std::string>{"start", "a", "b"});
  const auto sent = server.requests();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].query.at("limit") == "20");
  CHECK(sent[0].query.at("labelSelector") == "a in (b)");
  CHECK(sent[0].query.at("fieldSelector") == "x=y");
  CHECK(sent[0].headers.at("accept") == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
  CHECK(sent[1].query.at("continue") == "next/+=");
}

TEST_CASE("a list whose next page has expired begins again and ends in one piece") {
  std::atomic<int> expired = 0;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (request.query.contains("continue")) {
      ++expired;
      return exchange.respond(410, status_body(410, "Expired", "the continue token is too old"));
    }
    json page = {{"kind", "JobList"}, {"metadata", {{"resourceVersion", "5"}}}, {"items", {object("a", "1")}}};
    if (request.query.contains("limit")) page["metadata"]["continue"] = "more";
    exchange.respond(200, page);
  });
  TestClient client(server);
  int starts = 0;
  int items = 0;
  const auto version = client->list(kJobs, {}, {[&] { ++starts, items = 0; }, [&](json&) { ++items; }});
  REQUIRE(version.ok());
  CHECK(expired == 3);
  CHECK(starts == 4);
  CHECK(items == 1);
}

TEST_CASE("Warning headers are told with the request that they are about") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) {
    exchange.respond(201, object("x", "1"), {{"Warning", R"(299 - "unknown field \"spec.a\"", 299 - "old")"}});
  });
  TestClient client(server);
  CHECK(client->create(kJobs, "ns", json::object()).ok());
  CHECK(client.observer.notes() ==
        std::vector<std::string>{R"(warned: POST: unknown field "spec.a")", "warned: POST: old"});
}

TEST_CASE("429 with Retry-After is waited out and then succeeds") {
  std::atomic<int> turned_away = 0;
  FakeApiServer server([&](const FakeRequest&, FakeExchange& exchange) {
    if (turned_away++ < 3)
      return exchange.respond(429, status_body(429, "TooManyRequests", "busy"), {{"Retry-After", "4"}});
    exchange.respond(201, object("x", "1"));
  });
  TestClient client(server);
  CHECK(client->create(kJobs, "ns", json::object()).ok());
  CHECK(server.requests().size() == 4);
  CHECK(client.time.slept() >= 12s);
  CHECK(client.time.slept() <= 15s);
  CHECK(client.observer.count("retry: busy") == 3);
}

TEST_CASE("a server that turns everything away is given up on within its bounds") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) {
    exchange.respond(503, status_body(503, "ServiceUnavailable", "starting"), {{"Retry-After", "1"}});
  });
  TestClient client(server);
  const auto answer = client->get(kJobs, "ns", "x");
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == 503);
  CHECK(answer.error().retry_after == std::optional<Duration>(1s));
  CHECK(server.requests().size() == 11);
  CHECK(client.time.slept() <= 60s);
}

TEST_CASE("a broken connection repeats a GET and never a POST") {
  std::atomic<int> asked = 0;
  FakeApiServer server([&](const FakeRequest&, FakeExchange& exchange) {
    if (asked++ < 2) return exchange.break_off();
    exchange.respond(200, object("x", "1"));
  });
  TestClient client(server);
  CHECK(client->get(kJobs, "ns", "x").ok());
  CHECK(asked == 3);
  asked = 0;
  const auto created = client->create(kJobs, "ns", json::object());
  REQUIRE_FALSE(created.ok());
  CHECK(created.error().unanswered());
  CHECK(created.error().reason == kUnreachableReason);
  CHECK(asked == 1);
}

TEST_CASE("a request that is to be sent once is sent once whatever comes of it") {
  std::atomic<int> asked = 0;
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    ++asked;
    if (request.path == "/broken") return exchange.break_off();
    exchange.respond(429, status_body(429, "TooManyRequests", "busy"), {{"Retry-After", "1"}});
  });
  TestClient client(server);
  for (const char* path : {"/broken", "/busy"}) {
    CAPTURE(path);
    asked = 0;
    KubeRequest request;
    request.path = path;
    request.repeatable = true;
    request.once = true;
    CHECK_FALSE(client->send(request, {}).ok());
    CHECK(asked == 1);
  }
  CHECK(client.time.sleeps().empty());
}

TEST_CASE("no attempt of a request starts at its last moment or later") {
  std::atomic<int> asked = 0;
  FakeApiServer server([&](const FakeRequest&, FakeExchange& exchange) {
    ++asked;
    exchange.respond(429, status_body(429, "TooManyRequests", "busy"), {{"Retry-After", "4"}});
  });
  struct Row {
    std::string name;
    Duration left;
    int attempts;
  };
  for (const Row& row : {Row{"it has passed", 0s, 0}, Row{"it passes while the request waits to be repeated", 8s, 2},
                         Row{"it passes a moment later", 8s + 1s, 3}}) {
    CAPTURE(row.name);
    asked = 0;
    TestClient client(server);
    WriteOptions options;
    options.not_after = client.time.now().monotonic + row.left;
    const auto written = client->patch_merge(kJobs, "ns", "x", json::object(), options);
    REQUIRE_FALSE(written.ok());
    CHECK(written.error().reason == kTooLateReason);
    CHECK(asked == row.attempts);
    DeleteOptions last;
    last.not_after = client.time.now().monotonic;
    CHECK(client->remove(kJobs, "ns", "x", last).error().reason == kTooLateReason);
    CHECK(asked == row.attempts);
  }
}

TEST_CASE("a connection that the server has closed is not used for a POST") {
  FakeApiServer server(kEcho);
  TestClient client(server);
  REQUIRE(client->get(kJobs, "ns", "x").ok());
  server.drop_connections();
  // The farewell is on its way through the kernel; both orders must succeed.
  for (int i = 0; i < 20; ++i) CHECK(client->get(kJobs, "ns", "x").ok());
  server.drop_connections();
  REQUIRE(eventually([&] { return client->get(kJobs, "ns", "x").ok() && server.connections() >= 3; }));
  CHECK(client->create(kJobs, "ns", json::object()).ok());
}

TEST_CASE("a connection that was idle for a minute is not used again") {
  FakeApiServer server(kEcho);
  TestClient client(server);
  REQUIRE(client->get(kJobs, "ns", "x").ok());
  client.time.advance(59s);
  REQUIRE(client->get(kJobs, "ns", "x").ok());
  CHECK(server.connections() == 1);
  client.time.advance(61s);
  REQUIRE(client->create(kJobs, "ns", json::object()).ok());
  CHECK(server.connections() == 2);
}

TEST_CASE("a server that is not there is told by name after a few tries") {
  int port = 0;
  {
    FakeApiServer gone(kEcho);
    port = gone.port();
  }
  FakeApiServer server(kEcho);
  ClusterAccess access = access_to(server);
  access.server = "http://127.0.0.1:" + std::to_string(port);
  VirtualTime time;
  RecordingObserver observer;
  const auto client = make_client(access, test_options(), time.timing(), observer);
  const auto answer = client->create(kJobs, "ns", json::object());
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().message.find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
  CHECK(observer.count("retry: ") == 3);
  CHECK(observer.done("POST 127.0.0.1:" + std::to_string(port) + " <error>") == 4);
}

TEST_CASE("an answer that is no JSON is an error and not a crash") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) { exchange.respond_text(200, "<html>"); });
  TestClient client(server);
  const auto answer = client->get(kJobs, "ns", "x");
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().reason == kUnreadableReason);
}

TEST_CASE("a refused token is read again once and the request repeated") {
  TemporaryFolder folder;
  folder.write("token", "old\n");
  FakeApiServer server([](const FakeRequest& request, FakeExchange& exchange) {
    if (request.headers.at("authorization") == "Bearer new") return exchange.respond(200, object("x", "1"));
    exchange.respond(401, status_body(401, "Unauthorized", "Unauthorized"));
  });
  ClusterAccess access = access_to(server);
  access.token.path = folder / "token";
  VirtualTime time;
  RecordingObserver observer;
  const auto client = make_client(access, test_options(), time.timing(), observer);
  const auto refused = client->get(kJobs, "ns", "x");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == 401);
  CHECK(server.requests().size() == 1);
  folder.write("token", "new\n");
  CHECK(client->create(kJobs, "ns", json::object()).ok());
  CHECK(server.requests().size() == 3);
}

TEST_CASE("an empty answer is null") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) { exchange.respond_text(200, ""); });
  TestClient client(server);
  const auto answer = client->get(kJobs, "ns", "x");
  REQUIRE(answer.ok());
  CHECK(answer->is_null());
}

}  // namespace
}  // namespace muster::kube::test::client_test
