#include "server/transport/client_certificates.h"

#include <doctest/doctest.h>

#include "test/server/test_server.h"

namespace client_certificates_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;

namespace {

// /echo is for known clients, /open for all.
class GuardedServer {
 public:
  explicit GuardedServer(const std::string& authorities, std::vector<std::string> names = {}) {
    auto made = ClientCertificates::create(authorities, std::move(names));
    REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error().message));
    clients = *made;
    tls = *TlsContext::create({});
    const auto certificate = make_certificate("server");
    REQUIRE(tls->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
    const auto echo = [this](const HttpRequest& request) {
      ++handled;
      return HttpResponse{200, "application/json", std::string(request.body)};
    };
    HttpServerOptions options;
    options.bind_address = "127.0.0.1:0";
    options.tls = tls;
    options.clients = clients;
    options.events = &events;
    server = std::make_unique<HttpServer>(
        std::move(options), Routes{{.method = HttpMethod::kPost, .path = "/echo", .handler = echo},
                                   {.method = HttpMethod::kPost, .path = "/open", .handler = echo, .strangers = true}});
    REQUIRE(server->start().ok());
  }

  // 0: no answer.
  int status(const std::string& path, const TestCertificate* own, int max_tls = 0) const {
    TestClient client(server->port(), Wire::kTls, max_tls, own);
    const auto answer = client.connected() ? client.exchange(post(path, "1")) : std::nullopt;
    return answer ? answer->status : 0;
  }

  RecordingEvents events;
  std::shared_ptr<ClientCertificates> clients;
  std::shared_ptr<TlsContext> tls;
  std::atomic<int> handled{0};
  std::unique_ptr<HttpServer> server;
};

constexpr int kVersions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

}  // namespace

TEST_CASE("Client certificates: one of a trusted authority opens the routes of known clients") {
  const TestAuthority authority("clients");
  const GuardedServer server(authority.pem());
  const TestCertificate own = authority.issue("apiserver");
  for (const int version : kVersions) {
    CHECK(server.status("/echo", &own, version) == 200);
    CHECK(server.status("/open", &own, version) == 200);
  }
}

TEST_CASE(
    "Client certificates: a client without one gets the routes of strangers only, and is refused before its body") {
  const TestAuthority authority("clients");
  GuardedServer server(authority.pem());
  for (const int version : kVersions) {
    CHECK(server.status("/echo", nullptr, version) == 403);
    CHECK(server.handled == 0);
    CHECK(server.status("/open", nullptr, version) == 200);
    CHECK(server.handled.exchange(0) == 1);
  }
  TestClient client(server.server->port());
  REQUIRE(
      client.send("POST /echo HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\n"
                  "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n"));
  const auto answer = client.receive();
  REQUIRE(answer);
  CHECK(answer->status == 403);
  CHECK(answer->body.find("webhookClientCAFile; this one has shown none") != std::string::npos);
  CHECK(client.closed_by_server());
}

TEST_CASE("Client certificates: one that is not trusted gets no answer at all") {
  const TestAuthority authority("clients");
  const TestAuthority impostor("clients");  // of the same name
  GuardedServer server(authority.pem());
  const TestCertificate foreign = impostor.issue("apiserver");
  const TestCertificate own_signature = make_certificate("apiserver");
  const TestCertificate of_server = authority.issue("apiserver", "serverAuth");
  for (const TestCertificate* shown : {&foreign, &own_signature, &of_server}) {
    for (const int version : kVersions) {
      CHECK(server.status("/echo", shown, version) == 0);
      CHECK(server.status("/open", shown, version) == 0);
    }
  }
  CHECK(server.handled == 0);
  CHECK(server.events.wait_for(ServerEvent::kHandshakeFailed, "certificate verify failed"));
}

TEST_CASE("Client certificates: names are compared with the common name and the DNS names") {
  const TestAuthority authority("clients");
  const GuardedServer server(authority.pem(), {"apiserver", "api.example"});
  const TestCertificate common = authority.issue("apiserver");
  const TestCertificate dns = authority.issue("x", "clientAuth", "api.example");
  const TestCertificate other = authority.issue("kubelet", "clientAuth", "node.example");
  const TestCertificate longer = authority.issue("apiserver2", "clientAuth", "an.api.example");
  CHECK(server.status("/echo", &common) == 200);
  CHECK(server.status("/echo", &dns) == 200);
  for (const TestCertificate* stranger : {&other, &longer}) {
    CHECK(server.status("/echo", stranger) == 403);
    CHECK(server.status("/open", stranger) == 200);
  }
}

TEST_CASE("Client certificates: new authorities judge also the connections that are open") {
  const TestAuthority before("before");
  const TestAuthority after("after");
  const GuardedServer server(before.pem());
  const TestCertificate old_client = before.issue("apiserver");
  const TestCertificate new_client = after.issue("apiserver");
  TestClient open(server.server->port(), Wire::kTls, 0, &old_client);
  CHECK(open.exchange(post("/echo", "1"))->status == 200);
  CHECK(server.status("/echo", &new_client) == 0);

  REQUIRE(server.clients->set_authorities(before.pem() + "between two\n" + after.pem()).ok());
  CHECK(open.exchange(post("/echo", "1"))->status == 200);
  CHECK(server.status("/echo", &old_client) == 200);
  CHECK(server.status("/echo", &new_client) == 200);

  REQUIRE(server.clients->set_authorities(after.pem()).ok());
  const auto answer = open.exchange(post("/echo", "1"));
  REQUIRE(answer);
  CHECK(answer->status == 403);
  CHECK(answer->body.find("no longer trusted") != std::string::npos);
  CHECK(open.closed_by_server());
  CHECK(server.status("/echo", &old_client) == 0);
  CHECK(server.status("/echo", &new_client) == 200);
}

TEST_CASE("Client certificates: what holds no authority, or a damaged one, is refused and those before stay") {
  const TestAuthority authority("clients");
  CHECK(ClientCertificates::create("", {}).error().message.find("no PEM certificate") != std::string::npos);
  CHECK(ClientCertificates::create("hello", {}).error().message.find("no PEM certificate") != std::string::npos);
  std::string damaged = TestAuthority("other").pem();
  damaged[damaged.size() / 2] = '!';
  const GuardedServer server(authority.pem());
  const auto refused = server.clients->set_authorities(authority.pem() + damaged);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "PEM certificate number 2 is damaged");
  const TestCertificate own = authority.issue("apiserver");
  CHECK(server.status("/echo", &own) == 200);
}

TEST_CASE("Client certificates: a listener that asks for none answers everybody, whatever they show") {
  TestServer server;
  const TestCertificate own = make_certificate("anybody");
  TestClient client(server.port(), Wire::kTls, 0, &own);
  const auto answer = client.exchange(post("/echo", "1"));
  REQUIRE(answer);
  CHECK(answer->status == 200);
}

TEST_CASE("Client certificates: a chain that is longer than any real one is refused before it is read") {
  const TestAuthority authority("clients");
  GuardedServer server(authority.pem());
  const TestCertificate large = authority.issue("apiserver", "clientAuth", std::string(20'000, 'a'));
  CHECK(server.status("/echo", &large) == 0);
  CHECK(server.events.wait_for(ServerEvent::kHandshakeFailed, "excessive message size"));
}

}  // namespace client_certificates_test
