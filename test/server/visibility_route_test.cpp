#include "server/visibility_route.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/workload.h"
#include "server/visibility_discovery.h"
#include "test/server/test_server.h"

namespace muster::server::visibility_route_test {
namespace {

using nlohmann::json;
using namespace muster::test;

// ClusterQueue cq with three pending Workloads of team-a, in LocalQueue lq.
std::shared_ptr<const explain::QueueSnapshot> snapshot() {
  explain::QueueListing listed;
  scheduler::ListedClusterQueue queue;
  queue.object = read_cluster_queue({{"metadata", {{"name", "cq"}}}});
  for (const char* name : {"first", "second", "third"}) {
    queue.pending.push_back({.object = read_workload({{"metadata", {{"namespace", "team-a"}, {"name", name}}},
                                                      {"spec", {{"queueName", "lq"}}}}),
                             .queued_since = {}});
  }
  listed.local_queues.push_back(
      {read_local_queue({{"metadata", {{"namespace", "team-a"}, {"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}}}}),
       {}});
  listed.listing.cluster_queues.push_back(std::move(queue));
  return std::make_shared<const explain::QueueSnapshot>(std::move(listed));
}

const std::string kGroup = "/apis/visibility.kueue.x-k8s.io";
const std::string kQueue = kGroup + "/v1beta2/clusterqueues/cq/pendingworkloads";
const std::string kAlice = "X-Remote-User: alice\r\nX-Remote-Group: team-a\r\nX-Remote-Extra-Scopes: all\r\n";

// The listener itself, with the users "alice" (of team-a), "admin" (all rights), "bob" (no rights) and "down"
// (the API server does not answer).
class AggregatedServer {
 public:
  AggregatedServer() : authority("front-proxy-ca"), own(authority.issue("front-proxy-client")) {
    trust(authority.pem());
    tls = *TlsContext::create({});
    const auto certificate = make_certificate("server");
    REQUIRE(tls->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
    HttpServerOptions options;
    options.bind_address = "127.0.0.1:0";
    options.tls = tls;
    options.identified = true;
    server = std::make_unique<HttpServer>(
        std::move(options),
        visibility_routes({.front_proxy =
                               [this] {
                                 MutexLock lock(mutex);
                                 return proxy;
                               },
                           .authorize = [this](const auto& user, const auto& access) { return decide(user, access); },
                           .snapshot =
                               [this] {
                                 MutexLock lock(mutex);
                                 return shown;
                               }}));
    REQUIRE(server->start().ok());
  }

  void trust(const std::string& pem) {
    FrontProxy made;
    made.settings.allowed_names = {"front-proxy-client"};
    made.settings.username_headers = {"X-Remote-User"};
    made.settings.group_headers = {"X-Remote-Group"};
    made.settings.extra_prefixes = {"X-Remote-Extra-"};
    made.authorities = *ClientAuthorities::parse(pem, {});
    MutexLock lock(mutex);
    proxy = std::make_shared<const FrontProxy>(std::move(made));
  }

  // As the API server asks, or with another certificate; nullptr: with none.
  Answer ask(const std::string& target, const std::string& headers = kAlice) { return ask_as(&own, target, headers); }
  Answer ask_as(const TestCertificate* shown_certificate, const std::string& target, const std::string& headers) {
    TestClient client(server->port(), Wire::kTls, 0, shown_certificate);
    REQUIRE(client.connected());
    const auto answer = client.exchange(get(target, headers));
    REQUIRE(answer);
    return *answer;
  }
  json items(const std::string& target) {
    const Answer answer = ask(target);
    INFO(answer.body);
    CHECK(answer.status == 200);
    return json::parse(answer.body)["items"];
  }

  const TestAuthority authority;
  const TestCertificate own;
  std::shared_ptr<TlsContext> tls;
  Mutex mutex;
  std::shared_ptr<const FrontProxy> proxy GUARDED_BY(mutex);
  std::shared_ptr<const explain::QueueSnapshot> shown GUARDED_BY(mutex) = snapshot();
  std::vector<std::string> reviewed GUARDED_BY(mutex);
  std::unique_ptr<HttpServer> server;

 private:
  AuthDecision decide(const AuthenticatedUser& user, const ListAccess& access) {
    MutexLock lock(mutex);
    std::string asked = user.username;
    for (const std::string& group : user.groups) asked += "," + group;
    for (const auto& [key, values] : user.extra) asked += "," + key + "=" + values.front();
    reviewed.push_back(asked + ": " + access.verb + " " + std::string(access.type->group) + "/" +
                       std::string(access.type->plural) + "/" + access.subresource + " " + access.ns + "/" +
                       access.name);
    if (user.username == "admin") return AuthDecision::kAllowed;
    if (user.username == "down") return AuthDecision::kUnavailable;
    return user.username == "alice" ? AuthDecision::kAllowed : AuthDecision::kForbidden;
  }
};

// Every refusal is an object that client-go understands.
void check_status(const Answer& answer, int code, const std::string& reason, const std::string& says = "") {
  INFO(answer.body);
  CHECK(answer.status == code);
  CHECK(answer.headers.at("content-type") == "application/json");
  const json status = json::parse(answer.body);
  CHECK(status["kind"] == "Status");
  CHECK(status["apiVersion"] == "v1");
  CHECK(status["status"] == "Failure");
  CHECK(status["code"] == code);
  CHECK(status["reason"] == reason);
  CHECK(status["message"].get<std::string>().find(says) != std::string::npos);
}

TEST_CASE("Aggregated: a user whom the API server names gets the pending Workloads, a page at a time") {
  AggregatedServer server;
  for (const char* version : {"v1beta1", "v1beta2"}) {
    const Answer answer = server.ask(kGroup + "/" + version + "/clusterqueues/cq/pendingworkloads");
    REQUIRE(answer.status == 200);
    const json summary = json::parse(answer.body);
    CHECK(summary["apiVersion"] == "visibility.kueue.x-k8s.io/" + std::string(version));
    CHECK(summary["kind"] == "PendingWorkloadsSummary");
    CHECK(summary["items"].size() == 3);
  }
  {
    MutexLock lock(server.mutex);
    CHECK(server.reviewed.at(0) ==
          "alice,team-a,scopes=all: get visibility.kueue.x-k8s.io/clusterqueues/"
          "pendingworkloads /cq");
  }
  const json second = server.items(kQueue + "?limit=1&offset=1");
  REQUIRE(second.size() == 1);
  CHECK(second[0]["metadata"]["name"] == "second");
  CHECK(second[0]["positionInClusterQueue"] == 1);
  CHECK(server.items(kQueue + "?offset=3").empty());
  const std::string local = kGroup + "/v1beta2/namespaces/team-a/localqueues/lq/pendingworkloads";
  CHECK(server.items(local + "?limit=2").size() == 2);
  // What clients send to every API: client-go its timeout, others pretty.
  CHECK(server.items(kQueue + "?timeout=32s&limit=2&pretty=true").size() == 2);
}

TEST_CASE("Aggregated: without the API server's certificate every request is refused, whatever its headers say") {
  AggregatedServer server;
  const TestAuthority impostor("front-proxy-ca");  // of the same name
  const TestAuthority clients("clients");
  const TestCertificate forged = impostor.issue("front-proxy-client"), self = make_certificate("front-proxy-client"),
                        of_clients = clients.issue("front-proxy-client"), other_name = server.authority.issue("alice"),
                        by_dns = server.authority.issue("alice", "clientAuth", "front-proxy-client"),
                        of_server = server.authority.issue("front-proxy-client", "serverAuth");
  const std::string admin = "X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n";
  for (const TestCertificate* shown :
       {static_cast<const TestCertificate*>(nullptr), &forged, &self, &of_clients, &other_name, &by_dns, &of_server}) {
    for (const std::string& path : {kQueue, kGroup + "/v1beta2", std::string("/apis"), std::string("/openapi/v2")}) {
      check_status(server.ask_as(shown, path, admin), 401, "Unauthorized");
      check_status(server.ask_as(shown, path, "x-remote-USER: admin\r\nX-Remote-User: admin\r\n"), 401, "Unauthorized");
      check_status(server.ask_as(shown, path, "Authorization: Bearer good\r\n"), 401, "Unauthorized");
    }
  }
  MutexLock lock(server.mutex);
  CHECK(server.reviewed.empty());
}

TEST_CASE("Aggregated: beside its certificate a user who is smuggled in is refused") {
  AggregatedServer server;
  check_status(server.ask(kQueue, "X-Remote-User: alice\r\nX-Remote-User: admin\r\n"), 401, "Unauthorized", "twice");
  check_status(server.ask(kQueue, "X-Remote-User: alice\r\nx-remote-user: admin\r\n"), 401, "Unauthorized", "twice");
  check_status(server.ask(kQueue, ""), 401, "Unauthorized", "no header names the user");
  check_status(server.ask(kQueue, "X_Remote_User: admin\r\n"), 401, "Unauthorized");
  // A folded line belongs to no header.
  CHECK(server.ask(kQueue, "X-Remote-User: bob\r\n admin\r\n").status == 400);
  // Values are taken as they are: nothing in them is decoded.
  check_status(server.ask(kQueue, "X-Remote-User: %61dmin\r\n"), 403, "Forbidden");
}

TEST_CASE("Aggregated: who lacks the right is refused, and who cannot be asked about is told to try again") {
  AggregatedServer server;
  check_status(server.ask(kQueue, "X-Remote-User: bob\r\n"), 403, "Forbidden",
               "cannot get clusterqueues.visibility.kueue.x-k8s.io/pendingworkloads \"cq\"");
  check_status(
      server.ask(kGroup + "/v1beta2/namespaces/team-b/localqueues/lq/pendingworkloads", "X-Remote-User: bob\r\n"), 403,
      "Forbidden", "in namespace \"team-b\"");
  check_status(server.ask(kQueue, "X-Remote-User: down\r\n"), 503, "ServiceUnavailable");
  // Whether a queue is there is shown only to permitted users.
  check_status(server.ask(kGroup + "/v1beta2/clusterqueues/none/pendingworkloads", "X-Remote-User: bob\r\n"), 403,
               "Forbidden");
  check_status(server.ask(kGroup + "/v1beta2/clusterqueues/none/pendingworkloads"), 404, "NotFound",
               "clusterqueue.visibility.kueue.x-k8s.io \"none\" not found");
}

TEST_CASE("Aggregated: what is not there or not well formed is a Status") {
  AggregatedServer server;
  for (const std::string& path :
       {std::string("/"), std::string("/openapi/v2"), std::string("/openapi/v3"), std::string("/metrics"),
        std::string("/lists/v1/workloads"), kGroup + "/v1", kGroup + "/v1beta2/clusterqueues",
        kGroup + "/v1beta2/clusterqueues/cq", kGroup + "/v1beta2/clusterqueues/cq/pendingworkloads/more"})
    check_status(server.ask(path), 404, "NotFound");
  check_status(server.ask(kQueue + "?limit=many"), 400, "BadRequest");
  check_status(server.ask(kQueue + "?offset=-1"), 400, "BadRequest");
  check_status(server.ask(kGroup + "/v1beta2/clusterqueues/CQ/pendingworkloads"), 400, "BadRequest");
}

TEST_CASE("Aggregated: a replica that knows no cluster, or not who the API server is, answers 503") {
  AggregatedServer server;
  {
    MutexLock lock(server.mutex);
    server.shown = nullptr;
  }
  check_status(server.ask(kQueue), 503, "ServiceUnavailable");
  CHECK(server.ask(kGroup + "/v1beta2").status == 200);
  {
    MutexLock lock(server.mutex);
    server.proxy = nullptr;
  }
  check_status(server.ask(kQueue), 503, "ServiceUnavailable", "extension-apiserver-authentication");
  check_status(server.ask(kGroup + "/v1beta2"), 503, "ServiceUnavailable");
}

TEST_CASE("Aggregated: another authority counts at once, also on the connections that are open") {
  AggregatedServer server;
  const TestAuthority next("front-proxy-ca");
  const TestCertificate renewed = next.issue("front-proxy-client");
  TestClient before(server.server->port(), Wire::kTls, 0, &server.own);
  TestClient after(server.server->port(), Wire::kTls, 0, &renewed);
  CHECK(before.exchange(get(kQueue, kAlice))->status == 200);
  CHECK(after.exchange(get(kQueue, kAlice))->status == 401);
  server.trust(next.pem());
  CHECK(before.exchange(get(kQueue, kAlice))->status == 401);
  CHECK(after.exchange(get(kQueue, kAlice))->status == 200);
}

json document(const std::string& path, const std::string& accept = "application/json") {
  const auto found = visibility_discovery(path, accept);
  REQUIRE_MESSAGE(found.has_value(), path);
  return json::parse(found->text);
}

TEST_CASE("Discovery: groups, versions and resources are Kueue's") {
  CHECK(document("/apis")["groups"][0]["name"] == "visibility.kueue.x-k8s.io");
  const json group = document(kGroup);
  CHECK(group["kind"] == "APIGroup");
  CHECK(group["preferredVersion"]["groupVersion"] == "visibility.kueue.x-k8s.io/v1beta2");
  CHECK(group["versions"].size() == 2);
  for (const char* version : {"v1beta1", "v1beta2"}) {
    const json list = document(kGroup + "/" + version);
    CHECK(list == document(kGroup + "/" + version + "/"));
    CHECK(list["kind"] == "APIResourceList");
    CHECK(list["groupVersion"] == "visibility.kueue.x-k8s.io/" + std::string(version));
    REQUIRE(list["resources"].size() == 4);
    CHECK(list["resources"][1] == json{{"name", "clusterqueues/pendingworkloads"},
                                       {"singularName", ""},
                                       {"namespaced", false},
                                       {"kind", "PendingWorkloadsSummary"},
                                       {"verbs", {"get"}}});
    CHECK(list["resources"][3]["name"] == "localqueues/pendingworkloads");
    CHECK(list["resources"][3]["namespaced"] == true);
    // Nothing that the deletion of a namespace would have to list or delete.
    for (const json& resource : list["resources"]) {
      for (const json& verb : resource["verbs"]) CHECK(verb == "get");
    }
  }
  for (const char* path : {"/", "/apis/", "/apis/visibility.kueue.x-k8s.io/v1", "/apis/kueue.x-k8s.io", "/openapi/v2"})
    CHECK(visibility_discovery(path, "").has_value() == (std::string_view(path) == "/apis/"));
}

TEST_CASE("Discovery: the API server gets all in one document, in the newest form that it names") {
  const auto form = [](const std::string& version) {
    return "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList";
  };
  const auto answered = [](const std::string& accept) { return visibility_discovery("/apis", accept)->content_type; };
  CHECK(answered(form("v2") + "," + form("v2beta1")) == form("v2"));
  CHECK(answered(form("v2beta1") + "," + form("v2")) == form("v2"));
  CHECK(answered("application/json;as=APIGroupDiscoveryList; v=v2beta1;g=apidiscovery.k8s.io") == form("v2beta1"));
  for (const std::string& accept : {std::string(), std::string("application/json"), form("v3"),
                                    std::string("application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;"
                                                "as=APIGroupDiscoveryList")})
    CHECK(answered(accept) == "application/json");

  const json all = document("/apis", form("v2"));
  CHECK(all["apiVersion"] == "apidiscovery.k8s.io/v2");
  REQUIRE(all["items"].size() == 1);
  CHECK(all["items"][0]["metadata"]["name"] == "visibility.kueue.x-k8s.io");
  REQUIRE(all["items"][0]["versions"].size() == 2);
  const json& version = all["items"][0]["versions"][0];
  CHECK(version["version"] == "v1beta2");
  CHECK(version["resources"][1]["resource"] == "localqueues");
  CHECK(version["resources"][1]["scope"] == "Namespaced");
  CHECK(version["resources"][1]["subresources"][0]["subresource"] == "pendingworkloads");
}

}  // namespace
}  // namespace muster::server::visibility_route_test
