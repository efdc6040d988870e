#include "kube/authorizer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "test/kube/client_fixture.h"

namespace muster::kube::test::authorizer_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// Knows the tokens "good" (can read) and "poor" (cannot); counts its answers.
FakeApiServer::Handler reviewer() {
  return [](const FakeRequest& request, FakeExchange& exchange) {
    const json body = json::parse(request.body);
    if (request.path == "/apis/authentication.k8s.io/v1/tokenreviews") {
      const std::string token = body["spec"]["token"];
      json status = {{"authenticated", token != "bad"}};
      if (token != "bad")
        status["user"] = {{"username", token}, {"uid", "7"}, {"groups", {"scrapers"}}, {"extra", {{"k", {"v"}}}}};
      return exchange.respond(201, {{"status", status}});
    }
    exchange.respond(201, {{"status", {{"allowed", body["spec"]["user"] == "good"}}}});
  };
}

const AccessQuestion kMetrics{.verb = "get", .path = "/metrics"};

struct TestAuthorizer {
  TestAuthorizer() : server(reviewer()), client(server), authorizer(*client.client, client.time) {}
  AccessDecision decide(const std::string& token, const AccessQuestion& question = kMetrics) {
    const auto decision = authorizer.decide(token, question);
    REQUIRE(decision.ok());
    return *decision;
  }
  size_t asked(std::string_view kind) const {
    size_t count = 0;
    for (const auto& request : server.requests()) count += request.path.ends_with(kind) ? 1 : 0;
    return count;
  }
  FakeApiServer server;
  TestClient client;
  Authorizer authorizer;
};

TEST_CASE("a token is allowed forbidden or unknown by the server's word") {
  TestAuthorizer test;
  CHECK(test.decide("good") == AccessDecision::kAllow);
  CHECK(test.decide("poor") == AccessDecision::kForbidden);
  CHECK(test.decide("bad") == AccessDecision::kUnauthenticated);
  const size_t before = test.server.requests().size();
  CHECK(test.decide("") == AccessDecision::kUnauthenticated);
  CHECK(test.server.requests().size() == before);
}

TEST_CASE("the review names the user with groups and the path") {
  TestAuthorizer test;
  test.decide("good");
  const json asked = json::parse(test.server.requests().at(1).body);
  CHECK(asked["kind"] == "SubjectAccessReview");
  CHECK(asked["spec"] == json{{"user", "good"},
                              {"uid", "7"},
                              {"groups", {"scrapers"}},
                              {"extra", {{"k", {"v"}}}},
                              {"nonResourceAttributes", {{"path", "/metrics"}, {"verb", "get"}}}});
}

TEST_CASE("a user whom the API server has named is reviewed with groups and extras, without a token") {
  TestAuthorizer test;
  const AccessQuestion question{.verb = "get", .group = "g", .resource = "localqueues", .ns = "a", .name = "lq"};
  const auto decide = [&](const AuthenticatedUser& user) {
    const auto decision = test.authorizer.decide(user, question);
    REQUIRE(decision.ok());
    return *decision;
  };
  const AuthenticatedUser good{.username = "good", .uid = "7", .groups = {"a", "b"}, .extra = {{"k", {"v", "w"}}}};
  CHECK(decide(good) == AccessDecision::kAllow);
  CHECK(json::parse(test.server.requests().back().body)["spec"] ==
        json{{"user", "good"},
             {"uid", "7"},
             {"groups", {"a", "b"}},
             {"extra", {{"k", {"v", "w"}}}},
             {"resourceAttributes",
              {{"verb", "get"}, {"group", "g"}, {"resource", "localqueues"}, {"namespace", "a"}, {"name", "lq"}}}});
  // Remembered, but for this user as they are: no other group, no administrator by name alone.
  CHECK(decide(good) == AccessDecision::kAllow);
  CHECK(test.asked("subjectaccessreviews") == 1);
  AuthenticatedUser other = good;
  other.groups = {"a"};
  decide(other);
  other = good;
  other.extra.clear();
  decide(other);
  CHECK(test.asked("subjectaccessreviews") == 3);
  CHECK(decide({.username = "poor", .groups = {"system:masters"}}) == AccessDecision::kForbidden);
  CHECK(decide({.username = "", .groups = {"system:masters"}}) == AccessDecision::kUnauthenticated);
  CHECK(test.asked("subjectaccessreviews") == 4);
  CHECK(test.asked("tokenreviews") == 0);
}

TEST_CASE("the review of an object names what is done to what and where") {
  TestAuthorizer test;
  struct Row {
    const char* name;
    AccessQuestion question;
    json attributes;
  };
  const Row rows[] = {
      {"one object of a namespace",
       {.verb = "get", .group = "batch", .resource = "jobs", .ns = "team-a", .name = "train"},
       {{"verb", "get"}, {"group", "batch"}, {"resource", "jobs"}, {"namespace", "team-a"}, {"name", "train"}}},
      {"a list in all namespaces",
       {.verb = "list", .group = "kueue.x-k8s.io", .resource = "workloads"},
       {{"verb", "list"}, {"group", "kueue.x-k8s.io"}, {"resource", "workloads"}}},
      {"a subresource",
       {.verb = "get", .group = "g", .resource = "clusterqueues", .name = "cq", .subresource = "pendingworkloads"},
       {{"verb", "get"},
        {"group", "g"},
        {"resource", "clusterqueues"},
        {"name", "cq"},
        {"subresource", "pendingworkloads"}}},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    CHECK(test.decide("good", row.question) == AccessDecision::kAllow);
    const json asked = json::parse(test.server.requests().back().body);
    CHECK(asked["spec"]["resourceAttributes"] == row.attributes);
    CHECK_FALSE(asked["spec"].contains("nonResourceAttributes"));
  }
}

TEST_CASE("an allowance for one thing is none for another") {
  TestAuthorizer test;
  test.decide("good", {.verb = "get", .group = "batch", .resource = "jobs", .ns = "a", .name = "x"});
  test.decide("good", {.verb = "get", .group = "batch", .resource = "jobs", .ns = "a", .name = "x"});
  CHECK(test.asked("subjectaccessreviews") == 1);
  test.decide("good", {.verb = "get", .group = "batch", .resource = "jobs", .ns = "b", .name = "x"});
  test.decide("poor", {.verb = "get", .group = "batch", .resource = "jobs", .ns = "a", .name = "x"});
  CHECK(test.asked("subjectaccessreviews") == 3);
  CHECK(test.asked("tokenreviews") == 2);
}

TEST_CASE("who it is holds for a minute and an allowance for five") {
  TestAuthorizer test;
  test.decide("good");
  test.client.time.advance(59s);
  test.decide("good");
  CHECK(test.asked("tokenreviews") == 1);
  test.client.time.advance(2s);
  test.decide("good");
  CHECK(test.asked("tokenreviews") == 2);
  CHECK(test.asked("subjectaccessreviews") == 1);
  test.client.time.advance(4min);
  test.decide("good");
  CHECK(test.asked("subjectaccessreviews") == 2);
}

TEST_CASE("a refusal holds for half a minute") {
  TestAuthorizer test;
  test.decide("poor");
  test.client.time.advance(29s);
  test.decide("poor");
  CHECK(test.asked("subjectaccessreviews") == 1);
  test.client.time.advance(2s);
  test.decide("poor");
  CHECK(test.asked("subjectaccessreviews") == 2);
}

TEST_CASE("an API server without an answer is an error and is not remembered") {
  std::atomic<bool> broken = true;
  const auto answer = reviewer();
  FakeApiServer server([&](const FakeRequest& request, FakeExchange& exchange) {
    if (broken) return exchange.respond(500, status_body(500, "InternalError", "no"));
    answer(request, exchange);
  });
  TestClient client(server);
  Authorizer authorizer(*client.client, client.time);
  CHECK_FALSE(authorizer.decide("good", kMetrics).ok());
  broken = false;
  const auto decision = authorizer.decide("good", kMetrics);
  REQUIRE(decision.ok());
  CHECK(*decision == AccessDecision::kAllow);
}

// Refuses every token; keeps what it was asked.
class RefusingApi final : public KubeApi {
 public:
  Answer send(const KubeRequest& request, std::stop_token) override {
    ++asked;
    last = request;
    return json{{"status", {{"authenticated", false}}}};
  }
  Outcome<StatusError> stream(const KubeRequest&, const ByteSink&, std::stop_token) override {
    return fail_with(unanswered(kUnreachableReason, "nothing is streamed here"));
  }
  size_t asked = 0;
  KubeRequest last;
};

TEST_CASE("tokens without end do not fill the memory and each is asked for once") {
  RefusingApi api;
  VirtualTime time;
  Authorizer authorizer(api, time);
  const auto decide = [&](int token) {
    const auto decision = authorizer.decide("token-" + std::to_string(token), kMetrics);
    REQUIRE(decision.ok());
    CHECK(*decision == AccessDecision::kUnauthenticated);
  };
  constexpr int kTokens = 5000;
  for (int i = 0; i < kTokens; ++i) decide(i);
  CHECK(api.asked == kTokens);
  decide(kTokens - 1);
  CHECK(api.asked == kTokens);
  // The oldest are forgotten.
  decide(0);
  CHECK(api.asked == kTokens + 1);
}

TEST_CASE("an API server that does not answer a review keeps nobody for longer than ten seconds") {
  RefusingApi api;
  VirtualTime time;
  Authorizer authorizer(api, time);
  REQUIRE(authorizer.decide("a", kMetrics).ok());
  CHECK(api.last.timeout == 10s);
  CHECK(api.last.repeatable);
}

TEST_CASE("a review that is not answered ends with the process and lets nobody in") {
  FakeApiServer server([](const FakeRequest&, FakeExchange& exchange) { exchange.wait_for_close(); });
  TestClient client(server);
  std::stop_source ending;
  Authorizer authorizer(*client.client, client.time, "", ending.get_token());
  std::optional<Result<AccessDecision, StatusError>> decision;
  std::thread asking([&] { decision.emplace(authorizer.decide("good", kMetrics)); });
  while (server.requests().empty()) std::this_thread::yield();
  ending.request_stop();
  asking.join();
  REQUIRE(decision.has_value());
  CHECK_FALSE(decision->ok());
}

TEST_CASE("with an audience only tokens that were made for it count") {
  // As an API server answers: `audiences` are those that both the token and the review name. An
  // authenticator that knows nothing of audiences names none.
  FakeApiServer server([](const FakeRequest& request, FakeExchange& exchange) {
    const json spec = json::parse(request.body)["spec"];
    if (!spec.contains("token")) return exchange.respond(201, {{"status", {{"allowed", true}}}});
    CHECK(spec["audiences"] == json{"muster.batch/explain"});
    const std::string token = spec["token"];
    json status = {{"authenticated", token != "api"}, {"user", {{"username", token}}}};
    if (token == "ours") status["audiences"] = {"muster.batch/explain"};
    if (token == "other") status["audiences"] = {"https://kubernetes.default.svc"};
    exchange.respond(201, {{"status", status}});
  });
  TestClient client(server);
  Authorizer authorizer(*client.client, client.time, "muster.batch/explain");
  const auto decide = [&](const std::string& token) { return authorizer.decide(token, kMetrics).value(); };
  CHECK(decide("ours") == AccessDecision::kAllow);
  CHECK(decide("api") == AccessDecision::kUnauthenticated);
  CHECK(decide("other") == AccessDecision::kUnauthenticated);
  CHECK(decide("silent") == AccessDecision::kUnauthenticated);
}

}  // namespace
}  // namespace muster::kube::test::authorizer_test
