#include "server/explain_route.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/naming/named_kind.h"
#include "test/server/test_server.h"

namespace muster::test::explain_route_test {
namespace {

using nlohmann::json;

constexpr const char* kTrain = "/explain/v1/namespaces/team-a/jobs/train";

ExplainReply waiting() {
  ExplainReply made;
  made.kind = "Job";
  made.ns = "team-a";
  made.name = "train";
  made.say(ExplainReason::kWaitingForQuota, "Job team-a/train waits.");
  made.others = {{.role = "ahead", .count = 3, .names = {{"team-a", "mine"}, {"team-b", "secret"}}}};
  return made;
}

// The tokens "admin" (all rights), "dev" (of team-a), "stranger" (known, no rights), "down" (no
// answer).
class ExplainServer {
 public:
  std::vector<ObjectKey> asked;
  std::vector<std::string> reviewed;
  std::optional<ExplainReply> answer = waiting();

  explicit ExplainServer(bool standalone = false) {
    auto made = server::TlsContext::create({});
    REQUIRE(made.ok());
    const auto certificate = make_certificate("explain");
    REQUIRE((*made)->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
    server::HttpServerOptions options;
    options.bind_address = "127.0.0.1:0";
    options.tls = *made;
    std::optional<server::Explainer> explainer;
    if (!standalone)
      explainer = server::Explainer{.authorize = [this](auto... all) { return authorize(all...); },
                                    .ask = [this](const ObjectKey& key) { return ask(key); }};
    const auto all = [](std::string_view) { return server::AuthDecision::kAllowed; };
    server_ = std::make_unique<server::MetricsServer>(std::move(options), metrics_,
                                                      server::MetricsAccess{.bearer = all, .own = all},
                                                      server::Routes{server::explain_route(std::move(explainer))});
    REQUIRE(server_->start().ok());
  }
  Answer get(std::string_view target, std::string_view headers = "X-Muster-Token: admin\r\n") {
    TestClient client(server_->port());
    const auto got = client.exchange(test::get(target, headers));
    REQUIRE(got);
    return *got;
  }

 private:
  server::AuthDecision authorize(std::string_view token, std::string_view verb, const ObjectKey& object) {
    reviewed.push_back(std::string(token) + " " + std::string(verb) + " " + std::string(object.type->plural) + " " +
                       object.ns + "/" + object.name);
    if (token == "admin") return server::AuthDecision::kAllowed;
    if (token == "jobs")
      return object.type == &kJobs ? server::AuthDecision::kAllowed : server::AuthDecision::kForbidden;
    if (token == "down") return server::AuthDecision::kUnavailable;
    if (token == "unguarded") return server::AuthDecision::kUnproven;
    if (token == "dev")
      return object.ns == "team-a" ? server::AuthDecision::kAllowed : server::AuthDecision::kForbidden;
    return token == "stranger" ? server::AuthDecision::kForbidden : server::AuthDecision::kUnauthenticated;
  }
  std::optional<ExplainReply> ask(const ObjectKey& key) {
    asked.push_back(key);
    return answer;
  }

  server::Metrics metrics_{server::MetricsOptions{}};
  std::unique_ptr<server::MetricsServer> server_;
};

TEST_CASE("Explain: the answer is JSON beside the metrics and names what the reader may list") {
  struct Row {
    const char* name;
    const char* token;
    std::vector<ExplainedOthers::Name> names;
    size_t reviews;
  };
  const Row rows[] = {
      {"who may list everything sees all", "admin", {{"team-a", "mine"}, {"team-b", "secret"}}, 2},
      {"who may list one namespace sees that", "dev", {{"team-a", "mine"}}, 4},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    ExplainServer server;
    const Answer answer = server.get(kTrain, "X-Muster-Token: " + std::string(row.token) + "\r\n");
    CHECK(answer.status == 200);
    CHECK(answer.headers.at("content-type") == "application/json");
    const auto read = read_explained(json::parse(answer.body));
    REQUIRE(read.ok());
    ExplainReply expected = waiting();
    expected.others[0].names = row.names;
    CHECK(*read == expected);
    REQUIRE(server.asked.size() == 1);
    CHECK(server.asked[0] == ObjectKey{&kJobs, "team-a", "train"});
    CHECK(server.reviewed.size() == row.reviews);
    CHECK(server.reviewed[0] == std::string(row.token) + " get jobs team-a/train");
    CHECK(server.get("/metrics").status == 200);
  }
}

TEST_CASE("Explain: names are suggested to those who can list their kind") {
  ExplainServer server;
  server.answer->can({.by = "you", .what = "Set lq", .command = "kubectl label", .suggests = &kLocalQueues});
  server.answer->can(
      {.by = "you", .what = "Set gold", .command = "kubectl label", .suggests = &kWorkloadPriorityClasses});
  const auto actions = [&](const std::string& token) {
    return json::parse(server.get("/explain/v1/namespaces/team-a/jobs/train", "X-Muster-Token: " + token + "\r\n")
                           .body)["actions"]
        .size();
  };
  CHECK(actions("admin") == 2);
  CHECK(actions("dev") == 1);
}

TEST_CASE("Explain: each kind is asked for by its plural, and the API server decides about that very object") {
  for (const jobs::NamedKind& kind : jobs::named_kinds()) {
    ExplainServer server;
    const std::string path = server::explain_path({kind.type, "team-a", "x"});
    INFO(path);
    CHECK(server.get(path).status == 200);
    REQUIRE(server.asked.size() == 1);
    CHECK(server.asked[0].type->kind == kind.type->kind);
    CHECK(server.reviewed[0] == "admin get " + std::string(kind.type->plural) + " team-a/x");
  }
}

TEST_CASE("Explain: refusals are Status objects and nobody is asked") {
  struct Row {
    const char* name;
    std::string target;
    std::string headers;
    int status;
    const char* says;
  };
  const std::string admin = "X-Muster-Token: admin\r\n";
  const std::string prefix = "/explain/v1/namespaces/";
  const Row rows[] = {
      {"no token", kTrain, "", 401, "X-Muster-Token: TOKEN"},
      {"an unknown token", kTrain, "X-Muster-Token: who\r\n", 401, "this token is not one for muster"},
      {"a stranger", kTrain, "X-Muster-Token: stranger\r\n", 403, "cannot get jobs.batch \\\"train\\\""},
      {"the API server is away", kTrain, "X-Muster-Token: down\r\n", 503, "could not be asked"},
      {"nothing guards sessions", kTrain, "X-Muster-Token: unguarded\r\n", 503, "muster manifests --only policies"},
      {"another kind", prefix + "team-a/secrets/x", admin, 400, "muster knows no kind"},
      {"a singular", prefix + "team-a/job/x", admin, 400, "the plural of a kind"},
      {"a kind with another group", prefix + "team-a/jobs.example.com/x", admin, 400, "muster knows no kind"},
      {"who may get Jobs alone", prefix + "team-a/pods/x", "X-Muster-Token: jobs\r\n", 403,
       "cannot get pods \\\"x\\\""},
      {"no name", prefix + "team-a/jobs", admin, 400, "NAMESPACE/KIND/NAME"},
      {"an empty name", prefix + "team-a/jobs/", admin, 400, "no object can have this name"},
      {"too many parts", prefix + "team-a/jobs/x/y", admin, 400, "NAMESPACE/KIND/NAME"},
      {"a bad namespace", prefix + "Team/jobs/x", admin, 400, "no namespace can have this name"},
      {"a bad name", prefix + "team-a/jobs/..", admin, 400, "no object can have this name"},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    ExplainServer server;
    const Answer answer = server.get(row.target, row.headers);
    CHECK(answer.status == row.status);
    CHECK(answer.body.find(row.says) != std::string::npos);
    const json status = json::parse(answer.body, nullptr, false);
    CHECK(status["kind"] == "Status");
    CHECK(status["code"] == row.status);
    CHECK(server.asked.empty());
    CHECK(answer.body.find("stranger") == std::string::npos);
  }
}

TEST_CASE("Explain: paths that no object can have do not reach the route") {
  ExplainServer server;
  const std::string prefix = "/explain/v1/namespaces/";
  CHECK(server.get(prefix + "team-a/jobs/a%2Fb").status == 404);
  CHECK(server.get(prefix + std::string(513, 'a')).status == 404);
  CHECK(server.get(prefix + std::string(512, 'a')).status == 400);
  CHECK(server.get(kTrain, "X-Muster-Token: a%0ab\r\n").status == 400);
  CHECK(server.get(kTrain, "X-Muster-Token: " + std::string(8000, 'a') + "\r\n").status == 431);
  CHECK(server.get(kTrain, "X-Muster-Token: a\r\nX-Muster-Token: b\r\n").status == 400);
  CHECK(server.asked.empty());
}

TEST_CASE("Explain: the Authorization header serves those who come directly") {
  ExplainServer server;
  CHECK(server.get(kTrain, "Authorization: Bearer admin\r\n").status == 200);
  CHECK(server.get(kTrain, "Authorization: Bearer admin\r\nX-Muster-Token: stranger\r\n").status == 403);
}

TEST_CASE("Explain: who cannot answer says so with 503") {
  ExplainServer server;
  server.answer = std::nullopt;
  const Answer answer = server.get(kTrain);
  CHECK(answer.status == 503);
  CHECK(answer.body.find("has not read everything") != std::string::npos);
  ExplainServer alone(true);
  CHECK(alone.get(kTrain).status == 503);
  CHECK(alone.get(kTrain).body.find("--standalone") != std::string::npos);
}

}  // namespace
}  // namespace muster::test::explain_route_test
