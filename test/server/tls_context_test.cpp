#include "server/transport/tls_context.h"

#include <doctest/doctest.h>

#include "test/server/test_server.h"

namespace tls_context_test {

using namespace muster;
using namespace muster::server;
using namespace muster::test;

namespace {

std::string error_of(TlsOptions options) {
  const auto made = TlsContext::create(std::move(options));
  return made.ok() ? "" : made.error().message;
}

std::unique_ptr<TestServer> server_with(TlsOptions options) {
  auto tls = TlsContext::create(std::move(options));
  REQUIRE(tls.ok());
  const auto certificate = make_certificate("tls");
  REQUIRE((*tls)->set_certificate(certificate.chain_pem, certificate.key_pem).ok());
  return std::make_unique<TestServer>(Wire::kPlain, [&](HttpServerOptions& server) { server.tls = *tls; });
}

}  // namespace

TEST_CASE("Settings of TLS that cannot be met are errors at the start") {
  CHECK(error_of({}) == "");
  CHECK(error_of({"VersionTLS12", {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}}) == "");
  CHECK(error_of({"VersionTLS13", {}}) == "");
  CHECK(error_of({"VersionTLS11", {}}).find("tls.minVersion") == 0);
  CHECK(error_of({"1.2", {}}).find("VersionTLS12 or VersionTLS13") != std::string::npos);
  CHECK(error_of({"", {"TLS_NO_SUCH_SUITE"}}).find("tls.cipherSuites: \"TLS_NO_SUCH_SUITE\"") == 0);
  CHECK(error_of({"", {"TLS_AES_128_GCM_SHA256"}}).find("tls.cipherSuites") == 0);
  CHECK(error_of({"VersionTLS13", {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}}).find("tls.cipherSuites") == 0);
}

TEST_CASE("TLS 1.2 is the oldest version by default and 1.3 can be asked for") {
  const auto by_default = server_with({});
  CHECK(TestClient(by_default->port(), Wire::kTls, TLS1_2_VERSION).connected());
  CHECK_FALSE(TestClient(by_default->port(), Wire::kTls, TLS1_1_VERSION).connected());
  const auto newer = server_with({"VersionTLS13", {}});
  CHECK_FALSE(TestClient(newer->port(), Wire::kTls, TLS1_2_VERSION).connected());
  CHECK(TestClient(newer->port()).connected());
}

TEST_CASE("The cipher suites that are configured are the ones in use") {
  const auto server = server_with({"", {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}});
  CHECK(TestClient(server->port(), Wire::kTls, TLS1_2_VERSION).cipher() == "ECDHE-ECDSA-AES256-GCM-SHA384");
}

TEST_CASE("An unusable certificate is refused and the one before stays") {
  auto tls = TlsContext::create({});
  REQUIRE(tls.ok());
  auto& context = **tls;
  const auto first = make_certificate("first");
  const auto other = make_certificate("other");
  CHECK(context.set_certificate("", "").error().message.find("not a PEM certificate") != std::string::npos);
  CHECK(context.set_certificate(first.chain_pem, "").error().message.find("private key") != std::string::npos);
  CHECK(context.set_certificate(first.chain_pem, other.key_pem).error().message.find("does not belong") !=
        std::string::npos);
  REQUIRE(context.set_certificate(first.chain_pem, first.key_pem).ok());
  CHECK_FALSE(context.set_certificate(other.chain_pem, first.key_pem).ok());
  TestServer server(Wire::kPlain, [&](HttpServerOptions& options) { options.tls = *tls; });
  CHECK(TestClient(server.port()).server_name() == "first");
}

}  // namespace tls_context_test
