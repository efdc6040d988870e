#include "kube/reader_sessions.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "api/meta/reader_session.h"
#include "api/meta/time.h"
#include "kube/authorizer.h"
#include "test/kube/client_fixture.h"

namespace muster::kube::test::reader_sessions_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const std::string kSecret(64, 'a');
const std::string kPath = "/apis/muster.batch/v1alpha1/";
const AccessQuestion kQuestion{.verb = "get", .group = "batch", .resource = "jobs", .ns = "team-a", .name = "train"};

// An API server with sessions by "namespace/name", an admission policy that can be missing, and users who can do all if
// their name is alice.
struct Sessions {
  Sessions()
      : server([this](const FakeRequest& request, FakeExchange& exchange) { answer(request, exchange); }),
        client(server),
        authorizer(*client.client, client.time, "muster.batch/explain", {},
                   std::make_unique<ReaderSessions>(*client.client, client.time, "muster-system")) {}

  void answer(const FakeRequest& request, FakeExchange& exchange) {
    if (request.path.ends_with("subjectaccessreviews")) {
      const json asked = json::parse(request.body)["spec"];
      return exchange.respond(201, {{"status", {{"allowed", asked["user"] == "alice"}}}});
    }
    if (request.method == "POST") return create(exchange);
    const std::string& path = request.path;
    if (path == kPath + "readersessions") return list(exchange);
    const auto found = objects.find(path);
    if (found == objects.end())
      return exchange.respond(404, {{"kind", "Status"}, {"reason", "NotFound"}, {"details", {{"name", "reader-1"}}}});
    if (request.method == "DELETE") deleted.push_back(path);
    exchange.respond(200, found->second);
  }
  void create(FakeExchange& exchange) const {
    if (guarded) return exchange.respond(403, {{"kind", "Status"}, {"message", kReaderSessionRefusal}});
    exchange.respond(201, json::object());
  }
  void list(FakeExchange& exchange) const {
    json items = json::array();
    for (const auto& [path, object] : objects) items.push_back(object);
    exchange.respond(200, {{"items", items}});
  }
  // Made `age` ago.
  void add(const std::string& ns, const std::string& name, const std::string& user, Duration age = 1s) {
    json object = reader_session({{"username", user}}, kSecret);
    object["metadata"] = {{"namespace", ns},
                          {"name", name},
                          {"uid", name},
                          {"creationTimestamp", format_rfc3339(to_timestamp(client.time.now().wall - age))}};
    objects[kPath + "namespaces/" + ns + "/readersessions/" + name] = object;
  }
  Result<AccessDecision, StatusError> decide(const std::string& secret = kSecret) {
    return authorizer.decide(to_text(ReaderSessionToken{"team-a", "reader-1", secret}), kQuestion);
  }
  size_t asked(std::string_view method, std::string_view what) const {
    size_t count = 0;
    for (const auto& request : server.requests())
      count += request.method == method && request.path.find(what) != std::string::npos ? 1 : 0;
    return count;
  }

  bool guarded = true;
  std::map<std::string, json> objects;
  std::vector<std::string> deleted;
  FakeApiServer server;
  TestClient client;
  Authorizer authorizer;
};

TEST_CASE("reader sessions: the creator of the session is asked about, and no TokenReview") {
  Sessions test;
  test.add("team-a", "reader-1", "alice");
  REQUIRE(test.decide().ok());
  CHECK(*test.decide() == AccessDecision::kAllow);
  CHECK(test.asked("POST", "tokenreviews") == 0);
  CHECK(test.asked("GET", "readersessions/reader-1") == 1);  // remembered
  Sessions other;
  other.add("team-a", "reader-1", "bob");
  CHECK(*other.decide() == AccessDecision::kForbidden);
}

TEST_CASE("reader sessions: no session, another secret and an old session are nobody") {
  Sessions test;
  CHECK(*test.decide() == AccessDecision::kUnauthenticated);
  test.add("team-a", "reader-1", "alice");
  CHECK(*test.decide(std::string(64, 'b')) == AccessDecision::kUnauthenticated);
  Sessions old;
  old.add("team-a", "reader-1", "alice", 11min);
  CHECK(*old.decide() == AccessDecision::kUnauthenticated);
  CHECK(old.asked("POST", "subjectaccessreviews") == 0);
}

TEST_CASE("reader sessions: none is believed while nothing proves who creates them") {
  Sessions test;
  test.guarded = false;
  test.add("team-a", "reader-1", "alice");
  const auto decided = test.decide();
  REQUIRE_FALSE(decided.ok());
  CHECK(decided.error().reason == kUnguardedReason);
  CHECK(decided.error().message.find("nothing proves who creates a ReaderSession") != std::string::npos);
  test.guarded = true;
  CHECK(*test.decide() == AccessDecision::kAllow);
  // For a minute.
  test.guarded = false;
  test.client.time.advance(61s);
  CHECK_FALSE(test.decide().ok());
  for (const auto& request : test.server.requests()) {
    if (request.method != "POST" || request.path.find("readersessions") == std::string::npos) continue;
    CHECK(request.path.find("/namespaces/muster-system/") != std::string::npos);
    CHECK(request.query.at("dryRun") == "All");
    CHECK(json::parse(request.body)["spec"]["user"]["username"] == "muster.batch:nobody");
  }
}

TEST_CASE("reader sessions: those that are over are deleted while others are in use") {
  Sessions test;
  test.add("team-a", "reader-1", "alice");
  test.add("team-b", "reader-old", "bob", 11min);
  CHECK(*test.decide() == AccessDecision::kAllow);
  CHECK(test.deleted == std::vector<std::string>{kPath + "namespaces/team-b/readersessions/reader-old"});
}

TEST_CASE("reader sessions: an authorizer for tokens of the API server knows none") {
  Sessions test;
  test.add("team-a", "reader-1", "alice");
  Authorizer plain(*test.client.client, test.client.time);
  CHECK(*plain.decide(to_text(ReaderSessionToken{"team-a", "reader-1", kSecret}), kQuestion) ==
        AccessDecision::kUnauthenticated);
  CHECK(test.server.requests().empty());
}

}  // namespace
}  // namespace muster::kube::test::reader_sessions_test
