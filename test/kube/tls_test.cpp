// Whom the client trusts, and whom it says it is.
#include "kube/transport/tls.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/kube/client_fixture.h"
#include "test/support/temporary_folder.h"

namespace muster::kube::test::tls_test {
namespace {

using muster::test::TemporaryFolder;
using namespace std::chrono_literals;

const Resource kNamespaces{"", "v1", "namespaces", false, "Namespace"};
const FakeApiServer::Handler kAnswer = [](const FakeRequest&, FakeExchange& exchange) {
  exchange.respond(200, object("x", "1"));
};

KubeApi::Answer ask(const ClusterAccess& access) {
  VirtualTime time;
  RecordingObserver observer;
  return make_client(access, test_options(), time.timing(), observer)->get(kNamespaces, "", "x");
}

TEST_CASE("a server is trusted by its authority, its name and its dates") {
  const TestAuthority ours("ours");
  const TestAuthority foreign("foreign");
  struct Row {
    std::string name;
    IssuedCertificate shown;
    std::string server_name;
    std::string refused;  // empty: trusted
  };
  const Row rows[] = {
      {"an address among the alternative names", ours.issue("x", "IP:127.0.0.1"), "", ""},
      {"another address", ours.issue("x", "IP:127.0.0.2"), "", "IP address mismatch"},
      {"only a DNS name although we connect to an address", ours.issue("x", "DNS:localhost"), "",
       "IP address mismatch"},
      {"an address that stands only in the common name", ours.issue("127.0.0.1", ""), "", "IP address mismatch"},
      {"the name that tls-server-name says", ours.issue("x", "DNS:api.example.com"), "api.example.com", ""},
      {"a wildcard that covers tls-server-name", ours.issue("x", "DNS:*.example.com"), "api.example.com", ""},
      {"not the name that tls-server-name says", ours.issue("x", "DNS:other.example.com,IP:127.0.0.1"),
       "api.example.com", "hostname mismatch"},
      {"another authority", foreign.issue("x", "IP:127.0.0.1"), "", "unable to get local issuer certificate"},
      {"an expired certificate", ours.issue("x", "IP:127.0.0.1", -60), "", "certificate has expired"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    FakeApiServer server(kAnswer, ServerIdentity{row.shown, ""});
    ClusterAccess access = access_to(server);
    access.certificate_authority.data = ours.pem();
    access.tls_server_name = row.server_name;
    const auto answer = ask(access);
    CHECK(answer.ok() == row.refused.empty());
    if (!answer.ok()) {
      CAPTURE(answer.error().message);
      CHECK(answer.error().message.find(row.refused) != std::string::npos);
      CHECK(server.requests().empty());
    } else {
      CHECK(server.requests().at(0).server_name == row.server_name);  // never an address
    }
    access.insecure_skip_tls_verify = true;
    access.certificate_authority = {};
    CHECK(ask(access).ok());
  }
}

TEST_CASE("a given authority does not add to the system's roots but replaces them") {
  // Trusting our own authority by way of the system's roots is what SSL_CERT_FILE does.
  const TestAuthority system("system");
  const TestAuthority given("given");
  TemporaryFolder folder;
  setenv("SSL_CERT_FILE", folder.write("roots.pem", system.pem()).c_str(), 1);
  FakeApiServer server(kAnswer, ServerIdentity{system.issue("x", "IP:127.0.0.1"), ""});
  ClusterAccess access = access_to(server);
  CHECK(ask(access).ok());
  access.certificate_authority.data = given.pem();
  CHECK_FALSE(ask(access).ok());
  unsetenv("SSL_CERT_FILE");
}

TEST_CASE("a client certificate is shown to a server that asks") {
  const TestAuthority authority("ca");
  const auto own = authority.issue("system:muster", "");
  FakeApiServer server(kAnswer, ServerIdentity{authority.issue("x", "IP:127.0.0.1"), authority.pem()});
  ClusterAccess access = access_to(server);
  access.certificate_authority.data = authority.pem();
  REQUIRE(ask(access).ok());
  access.client_certificate.data = own.certificate;
  access.client_key.data = own.key;
  REQUIRE(ask(access).ok());
  const auto sent = server.requests();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].client_common_name.empty());
  CHECK(sent[1].client_common_name == "system:muster");
}

TEST_CASE("material that cannot work is refused with the reason") {
  const TestAuthority authority("ca");
  const auto one = authority.issue("one", "");
  const auto two = authority.issue("two", "");
  struct Row {
    std::string name;
    TlsPem pem;
    const char* expected;
  };
  const Row rows[] = {
      {"an authority that is no PEM", {"not pem", "", ""}, "holds no certificate"},
      {"a certificate without a key", {authority.pem(), one.certificate, ""}, "one of them is missing"},
      {"a key of another certificate", {authority.pem(), one.certificate, two.key}, "does not belong"},
      {"a key that is none", {authority.pem(), one.certificate, one.certificate}, "holds no private key"},
      {"a certificate that is none", {authority.pem(), one.key, one.key}, "holds no certificate"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto made = TlsMaterial::make(row.pem);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().message.find(row.expected) != std::string::npos);
  }
  CHECK(TlsMaterial::make({authority.pem() + authority.pem(), one.certificate, one.key}).ok());
}

TEST_CASE("a renewed authority is trusted after a minute without a restart") {
  const TestAuthority before("before");
  const TestAuthority after("after");
  TemporaryFolder folder;
  FakeApiServer server(kAnswer, ServerIdentity{before.issue("x", "IP:127.0.0.1"), ""});
  ClusterAccess access = access_to(server);
  access.certificate_authority.path = folder.write("ca.crt", before.pem());
  VirtualTime time;
  RecordingObserver observer;
  const auto client = make_client(access, test_options(), time.timing(), observer);
  REQUIRE(client->get(kNamespaces, "", "x").ok());

  folder.write("ca.crt", before.pem() + after.pem());
  time.advance(1min);
  REQUIRE(client->get(kNamespaces, "", "x").ok());
  CHECK(server.connections() == 2);  // nothing of the old trust is used on
  server.set_identity({after.issue("x", "IP:127.0.0.1"), ""});
  server.drop_connections();
  CHECK(client->get(kNamespaces, "", "x").ok());

  folder.write("ca.crt", "half written");
  time.advance(1min);
  CHECK(client->get(kNamespaces, "", "x").ok());
  CHECK(observer.count("stale: ") == 1);
}

TEST_CASE("TLS connections are kept and survive a restart of the server") {
  const TestAuthority authority("ca");
  FakeApiServer server(kAnswer, ServerIdentity{authority.issue("x", "IP:127.0.0.1"), ""});
  ClusterAccess access = access_to(server);
  access.certificate_authority.data = authority.pem();
  VirtualTime time;
  RecordingObserver observer;
  const auto client = make_client(access, test_options(), time.timing(), observer);
  for (int i = 0; i < 5; ++i) REQUIRE(client->get(kNamespaces, "", "x").ok());
  CHECK(server.connections() == 1);
  server.drop_connections();
  CHECK(client->get(kNamespaces, "", "x").ok());
}

}  // namespace
}  // namespace muster::kube::test::tls_test
