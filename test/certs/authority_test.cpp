#include "certs/authority.h"

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include "certs/openssl_handles.h"

namespace authority_test {

using namespace muster;
using namespace muster::certs;
using namespace std::chrono_literals;

namespace {

const TimePoint kNow{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1) + 12h};

KeyPair authority(TimePoint from = kNow, Duration life = 48h) {
  auto made = make_authority("test-ca", {from, from + life});
  REQUIRE(made.ok());
  return *made;
}

KeyPair leaf(const KeyPair& ca, const ServingNames& names = {{"muster.ns.svc"}, {"127.0.0.1"}},
             Validity validity = {kNow, kNow + 24h}) {
  auto made = make_leaf(ca, names, validity);
  REQUIRE(made.ok());
  return *made;
}

using ContextPtr = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreedBy<SSL_free>>;

// A whole TLS handshake in memory; returns the client's verdict on the server.
long handshake(const KeyPair& server_pair, const std::string& bundle, const std::string& host, TimePoint at) {
  const ContextPtr server_context(SSL_CTX_new(TLS_server_method()));
  const auto chain = parse_certificates(server_pair.certificate);
  const auto key = parse_key(server_pair.key);
  REQUIRE(chain.ok());
  REQUIRE(key.ok());
  REQUIRE(SSL_CTX_use_certificate(server_context.get(), chain->front().get()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey(server_context.get(), key->get()) == 1);

  const ContextPtr client_context(SSL_CTX_new(TLS_client_method()));
  const auto trusted = parse_certificates(bundle);
  REQUIRE(trusted.ok());
  for (const auto& ca : *trusted) X509_STORE_add_cert(SSL_CTX_get_cert_store(client_context.get()), ca.get());
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(client_context.get()),
                             std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count());

  const SslPtr server(SSL_new(server_context.get()));
  const SslPtr client(SSL_new(client_context.get()));
  BIO* left = nullptr;
  BIO* right = nullptr;
  REQUIRE(BIO_new_bio_pair(&left, 0, &right, 0) == 1);
  SSL_set_bio(server.get(), left, left);
  SSL_set_bio(client.get(), right, right);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  SSL_set1_host(client.get(), host.c_str());
  SSL_set_verify(client.get(), SSL_VERIFY_NONE, nullptr);  // go on to the end and ask for the verdict there
  for (int i = 0; i < 10 && SSL_is_init_finished(client.get()) == 0; ++i) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  REQUIRE(SSL_is_init_finished(client.get()) == 1);
  return SSL_get_verify_result(client.get());
}

}  // namespace

TEST_CASE("a TLS client that trusts the CA accepts the leaf under each of its names") {
  const KeyPair ca = authority();
  const KeyPair served = leaf(ca, {{"muster-webhook.muster-system.svc", "muster-webhook"}, {"127.0.0.1", "::1"}});
  for (const char* host : {"muster-webhook.muster-system.svc", "muster-webhook", "127.0.0.1", "::1"}) {
    INFO(host);
    CHECK(handshake(served, ca.certificate, host, kNow + 1h) == X509_V_OK);
  }
  CHECK(handshake(served, ca.certificate, "other.muster-system.svc", kNow + 1h) == X509_V_ERR_HOSTNAME_MISMATCH);
  CHECK(handshake(served, ca.certificate, "muster-webhook", kNow + 25h) == X509_V_ERR_CERT_HAS_EXPIRED);
  CHECK(handshake(served, authority().certificate, "muster-webhook", kNow + 1h) != X509_V_OK);
}

TEST_CASE("a leaf has the facts that it was made with") {
  const KeyPair ca = authority();
  const auto facts =
      read_certificate(leaf(ca, {{"b.svc", "A.svc", "b.svc"}, {"0:0:0:0:0:0:0:1", "127.0.0.1"}}).certificate);
  REQUIRE(facts.ok());
  CHECK(facts->not_before == kNow);
  CHECK(facts->not_after == kNow + 24h);
  CHECK(facts->names == ServingNames{{"a.svc", "b.svc"}, {"127.0.0.1", "::1"}});
  CHECK(facts->common_name == "b.svc");
  CHECK_FALSE(facts->is_authority);
  CHECK(facts->serial.size() >= 31);

  const auto authority_facts = read_certificate(ca.certificate);
  REQUIRE(authority_facts.ok());
  CHECK(authority_facts->is_authority);
  CHECK(authority_facts->common_name == "test-ca");
  CHECK(authority_facts->serial != facts->serial);
}

TEST_CASE("validity is rounded down to whole seconds") {
  const auto made = make_authority("ca", {kNow + 1500ms, kNow + 10999ms});
  REQUIRE(made.ok());
  const auto facts = read_certificate(made->certificate);
  REQUIRE(facts.ok());
  CHECK(facts->not_before == kNow + 1s);
  CHECK(facts->not_after == kNow + 10s);
}

TEST_CASE("a leaf never outlives its CA") {
  const KeyPair ca = authority(kNow, 2h);
  const auto facts = read_certificate(leaf(ca).certificate);
  REQUIRE(facts.ok());
  CHECK(facts->not_after == kNow + 2h);
}

TEST_CASE("what cannot be made is refused with a reason") {
  const KeyPair ca = authority();
  const KeyPair other = authority();
  struct Row {
    std::string name;
    KeyPair ca;
    ServingNames names;
    Validity validity;
    std::string reason;
  };
  const Validity day{kNow, kNow + 24h};
  const Row rows[] = {
      {"no name at all", ca, {}, day, "at least one DNS name"},
      {"a name that would smuggle in another extension value", ca, {{"a,IP:10.0.0.1"}, {}}, day, "no DNS name"},
      {"an empty name", ca, {{""}, {}}, day, "no DNS name"},
      {"an address that is none", ca, {{}, {"127.0.0.256"}}, day, "no IP address"},
      {"a CA whose key belongs to another certificate",
       {ca.certificate, other.key},
       {{"a"}, {}},
       day,
       "does not belong"},
      {"a CA without a certificate", {"", ca.key}, {{"a"}, {}}, day, "no certificate"},
      {"an end before the beginning", ca, {{"a"}, {}}, {kNow, kNow - 1s}, "end before it begins"},
      {"a CA that has already ended", authority(kNow - 48h, 24h), {{"a"}, {}}, day, "end before it begins"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto made = make_leaf(row.ca, row.names, row.validity);
    REQUIRE_FALSE(made.ok());
    INFO(made.error().message);
    CHECK(made.error().message.find(row.reason) != std::string::npos);
  }
}

TEST_CASE("a key is checked against the first certificate of a chain") {
  const KeyPair ca = authority();
  const KeyPair served = leaf(ca);
  CHECK(check_key(served).ok());
  CHECK(check_key({served.certificate + ca.certificate, served.key}).ok());
  CHECK_FALSE(check_key({ca.certificate + served.certificate, served.key}).ok());
  CHECK_FALSE(check_key({served.certificate, ca.key}).ok());
  CHECK_FALSE(check_key({served.certificate, ""}).ok());
  CHECK_FALSE(check_key({"", served.key}).ok());
  CHECK_FALSE(check_key({served.certificate, served.key.view().substr(0, served.key.size() / 2)}).ok());
}

TEST_CASE("chains are verified as of a given time against any CA of a bundle") {
  const KeyPair old_ca = authority();
  const KeyPair new_ca = authority();
  const KeyPair served = leaf(new_ca);
  CHECK(verify_chain(served.certificate, old_ca.certificate + new_ca.certificate, kNow + 1h).ok());
  CHECK(verify_chain(served.certificate, new_ca.certificate, kNow + 1h, "muster.ns.svc").ok());
  CHECK(verify_chain(served.certificate, new_ca.certificate, kNow + 1h, "127.0.0.1").ok());
  CHECK_FALSE(verify_chain(served.certificate, new_ca.certificate, kNow + 1h, "127.0.0.2").ok());
  CHECK_FALSE(verify_chain(served.certificate, new_ca.certificate, kNow + 1h, "muster.other.svc").ok());
  CHECK_FALSE(verify_chain(served.certificate, old_ca.certificate, kNow + 1h).ok());
  CHECK_FALSE(verify_chain(served.certificate, new_ca.certificate, kNow - 1s).ok());
  CHECK_FALSE(verify_chain(served.certificate, new_ca.certificate, kNow + 24h + 1s).ok());
  CHECK_FALSE(verify_chain(served.certificate, "", kNow + 1h).ok());
  CHECK_FALSE(verify_chain("", new_ca.certificate, kNow + 1h).ok());
}

TEST_CASE("a leaf cannot pose as a CA") {
  const KeyPair served = leaf(authority());
  const auto forged = make_leaf(served, {{"evil.svc"}, {}}, {kNow, kNow + 1h});
  REQUIRE(forged.ok());
  CHECK_FALSE(verify_chain(forged->certificate + served.certificate, authority().certificate, kNow + 1min).ok());
}

TEST_CASE("bundles are split in order and damaged ones are refused") {
  const std::string one = authority().certificate;
  const std::string two = authority().certificate;
  const auto split = split_bundle("# comment\n" + one + "\nnoise\n" + two);
  REQUIRE(split.ok());
  CHECK(*split == std::vector<std::string>{one, two});
  CHECK(split_bundle("")->empty());
  CHECK(split_bundle("no certificate here")->empty());
  CHECK(split_bundle(authority().key)->empty());
  std::string damaged = one;
  damaged[damaged.size() / 2] = '!';
  CHECK_FALSE(split_bundle(two + damaged).ok());
  CHECK_FALSE(split_bundle(one.substr(0, one.size() / 2)).ok());
}

TEST_CASE("a Service is called by four names") {
  CHECK(service_names("muster-webhook", "batch").dns ==
        std::vector<std::string>{"muster-webhook", "muster-webhook.batch", "muster-webhook.batch.svc",
                                 "muster-webhook.batch.svc.cluster.local"});
}

}  // namespace authority_test
