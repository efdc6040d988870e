#include "server/dashboard_route.h"

#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "server/list_cache.h"
#include "test/server/test_server.h"

namespace muster::test::dashboard_route_test {
namespace {

using nlohmann::json;

constexpr std::array<EmbeddedFile, 2> kFiles = {
    {{"page/index.html", "<!doctype html>"}, {"page/dist/app.js", "'use strict'"}}};

// The token "dev" can read team-a; "stranger" is known and has no rights.
class DashboardServer {
 public:
  int asked = 0;

  DashboardServer() {
    auto made = server::TlsContext::create({});
    REQUIRE(made.ok());
    const auto certificate = make_certificate("dashboard");
    REQUIRE((*made)->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
    server::HttpServerOptions options;
    options.bind_address = "127.0.0.1:0";
    options.tls = *made;
    const auto snapshot = std::make_shared<const explain::QueueSnapshot>(explain::QueueListing{});
    server::Lister lister{.authorize = [this](std::string_view token,
                                              const server::ListAccess& access) { return decide(token, access.ns); },
                          .snapshot = [snapshot] { return snapshot; },
                          .usage = [](std::string_view) -> std::optional<Result<json>> { return std::nullopt; }};
    server::Explainer explainer{.authorize = [this](std::string_view token, std::string_view,
                                                    const ObjectKey& key) { return decide(token, key.ns); },
                                .ask =
                                    [](const ObjectKey& key) {
                                      ExplainReply reply;
                                      reply.kind = key.type->kind;
                                      reply.ns = key.ns;
                                      reply.name = key.name;
                                      reply.timeline = {{.time = {1'767'268'800, 0},
                                                         .what = "Preempted for another Workload",
                                                         .by = ExplainedOthers::Name{"team-b", "secret"}}};
                                      return std::optional(reply);
                                    }};
    server_ = std::make_unique<server::MetricsServer>(
        std::move(options), metrics_,
        server::MetricsAccess{.bearer = [](std::string_view) { return server::AuthDecision::kAllowed; }},
        server::dashboard_routes(kFiles, std::move(lister), std::move(explainer)));
    REQUIRE(server_->start().ok());
  }
  // test::get sends the Host header.
  Answer get(std::string_view target, const std::string& headers = "Authorization: Bearer dev\r\n") {
    TestClient client(server_->port());
    const auto got = client.exchange(test::get(target, headers));
    REQUIRE(got);
    return *got;
  }

 private:
  server::AuthDecision decide(std::string_view token, const std::string& ns) {
    ++asked;
    if (token == "dev") return ns == "team-a" ? server::AuthDecision::kAllowed : server::AuthDecision::kForbidden;
    return token == "stranger" ? server::AuthDecision::kForbidden : server::AuthDecision::kUnauthenticated;
  }

  server::Metrics metrics_{server::MetricsOptions{}};
  std::unique_ptr<server::MetricsServer> server_;
};

const std::string kList = "/dashboard/api/workloads?namespace=team-a";
const std::string kDev = "Authorization: Bearer dev\r\n";

}  // namespace

TEST_CASE("served dashboard: its files are for everybody, and data for those who may") {
  DashboardServer server;
  const Answer page = server.get("/dashboard/", "");
  CHECK(page.status == 200);
  CHECK(page.body == "<!doctype html>");
  CHECK(server.get("/dashboard/app.js", "").body == "'use strict'");
  const Answer context = server.get("/dashboard/api/context", "");
  CHECK(context.status == 200);
  CHECK(context.body.find("\"RayJob.ray.io\"") != std::string::npos);
  CHECK(server.asked == 0);
  CHECK(server.get("/dashboard/other.js").status == 404);
  CHECK(server.get("/dashboard/api/secrets").status == 404);
  CHECK(server.get("/dashboard/api/../../metrics").status == 404);
  CHECK(server.get(kList).status == 200);
  CHECK(server.get("/dashboard/api/workloads").status == 403);
  CHECK(server.get("/dashboard/api/workloads?namespace=team-b").status == 403);
  CHECK(server.get(kList, "Authorization: Bearer stranger\r\n").status == 403);
  CHECK(server.get("/dashboard/api/explain?kind=job&namespace=team-b&name=train").status == 403);
  CHECK(server.get("/dashboard/api/explain?kind=pod&namespace=team-b&name=train").status == 403);
  CHECK(server.get("/dashboard/api/explain?kind=secret&namespace=team-a&name=train").status == 400);
  CHECK(server.get("/dashboard/api/explain?kind=job&namespace=team-a&name=a%2Fb").status == 400);
  CHECK(server.get("/dashboard/api/workloads?namespace=team-a&labels=a").status == 400);
}

TEST_CASE("served dashboard: no cookie, no header that names a user, and no token of another header counts") {
  DashboardServer server;
  for (const char* headers :
       {"", "Cookie: _oauth2_proxy=dev\r\n", "X-Forwarded-User: admin\r\nX-Forwarded-Groups: system:masters\r\n",
        "X-Remote-User: admin\r\nX-Auth-Request-Access-Token: dev\r\n", "X-Muster-Token: dev\r\n"}) {
    INFO(headers);
    const Answer refused = server.get(kList, headers);
    CHECK(refused.status == 401);
    CHECK(refused.body.find("Authorization: Bearer") != std::string::npos);
  }
  CHECK(server.asked == 0);
  const Answer expired = server.get(kList, "Authorization: Bearer old\r\n");
  CHECK(expired.status == 401);
  CHECK(expired.body.find("reload the page") != std::string::npos);
}

TEST_CASE("served dashboard: what a page of another origin sends through the proxy is refused") {
  DashboardServer server;
  for (const char* headers : {"Origin: https://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
                              "Sec-Fetch-Site: same-site\r\n"}) {
    INFO(headers);
    CHECK(server.get(kList, kDev + headers).status == 403);
  }
  CHECK(server.asked == 0);
  CHECK(server.get(kList, kDev + "Sec-Fetch-Site: same-origin\r\n").status == 200);
  // A link on another site can open the page itself.
  CHECK(server.get("/dashboard/", "Sec-Fetch-Site: cross-site\r\n").status == 200);
}

TEST_CASE("served dashboard: every answer says what a browser may do with it") {
  DashboardServer server;
  for (const std::string& target : {std::string("/dashboard/"), kList, std::string("/dashboard/nothing")}) {
    const Answer answer = server.get(target);
    INFO(target);
    CHECK(answer.headers.at("content-security-policy").starts_with("default-src 'none'; script-src 'self';"));
    CHECK(answer.headers.at("content-security-policy").ends_with("frame-ancestors 'none'"));
    CHECK(answer.headers.at("x-content-type-options") == "nosniff");
    CHECK(answer.headers.at("cache-control") == "no-store");
    CHECK_FALSE(answer.headers.contains("access-control-allow-origin"));
  }
}

TEST_CASE("served dashboard: a history names no Workload of a namespace that its reader cannot list") {
  DashboardServer server;
  const Answer answer = server.get("/dashboard/api/explain?kind=job&namespace=team-a&name=train");
  CHECK(answer.status == 200);
  const json timeline = json::parse(answer.body)["timeline"];
  REQUIRE(timeline.size() == 1);
  CHECK(timeline[0]["what"] == "Preempted for another Workload");
  CHECK_FALSE(timeline[0].contains("by"));
}

TEST_CASE("list cache: an answer is of one snapshot and one set of estimates, and keeps neither alive") {
  server::ListCache cache;
  auto snapshot = std::make_shared<const explain::QueueSnapshot>(explain::QueueListing{});
  const auto other = std::make_shared<const explain::QueueSnapshot>(explain::QueueListing{});
  CHECK(cache.find(snapshot, nullptr, "q") == nullptr);
  cache.keep(snapshot, nullptr, "q", "answer");
  REQUIRE(cache.find(snapshot, nullptr, "q") != nullptr);
  CHECK(*cache.find(snapshot, nullptr, "q") == "answer");
  CHECK(cache.find(snapshot, nullptr, "p") == nullptr);
  CHECK(cache.find(other, nullptr, "q") == nullptr);
  CHECK(snapshot.use_count() == 1);
  cache.keep(snapshot, nullptr, "large", std::string(server::ListCache::kMostBytes, 'x'));
  CHECK(cache.find(snapshot, nullptr, "large") == nullptr);
  cache.keep(other, nullptr, "q", "newer");
  CHECK(cache.find(snapshot, nullptr, "q") == nullptr);
  CHECK(*cache.find(other, nullptr, "q") == "newer");
}

}  // namespace muster::test::dashboard_route_test
