#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "certs/store.h"

namespace secret_form_test {

using namespace muster;
using namespace muster::certs;
using nlohmann::json;

namespace {

const CertificateState kFull{{"ca", "ca key"}, {"next", "next key"}, "previous", {"leaf", "leaf key"}};

}  // namespace

TEST_CASE("a state survives the way through a Secret") {
  for (const CertificateState& state : {kFull, CertificateState{{"a", "b"}, {}, "", {"c", "d"}}, CertificateState{}}) {
    const auto read = secret_to_state(state_to_secret(state, "ns", "name", "42"));
    REQUIRE(read.ok());
    CHECK(read->state == state);
    CHECK(read->version == "42");
  }
}

TEST_CASE("the Secret is one that other tools know") {
  const json secret = state_to_secret(kFull, "muster-system", "muster-webhook-cert", "");
  CHECK(secret["type"] == "Opaque");
  CHECK(secret["metadata"]["name"] == "muster-webhook-cert");
  CHECK(secret["metadata"]["namespace"] == "muster-system");
  CHECK_FALSE(secret["metadata"].contains("resourceVersion"));
  CHECK(secret["data"]["tls.crt"] == base64_encode("leaf"));
  CHECK(secret["data"]["tls.key"] == base64_encode("leaf key"));
  CHECK(secret["data"]["ca.crt"] == base64_encode("ca"));
  CHECK(secret["data"].size() == 7);
  CHECK_FALSE(state_to_secret({}, "a", "b", "").contains("data"));
}

TEST_CASE("what is no base64 or no text counts as absent") {
  json secret = state_to_secret(kFull, "ns", "name", "7");
  secret["data"]["tls.crt"] = "%%%";
  secret["data"]["ca.key"] = 5;
  secret["data"].erase("tls.key");
  secret["data"]["other"] = "x";
  const auto read = secret_to_state(secret);
  REQUIRE(read.ok());
  CHECK(read->state.leaf == KeyPair{});
  CHECK(read->state.authority == KeyPair{"ca", ""});
  CHECK(read->state.previous == "previous");
  CHECK(secret_to_state(json{{"metadata", {{"resourceVersion", "3"}}}, {"data", nullptr}})->version == "3");
}

TEST_CASE("a Secret of cert-manager is left alone") {
  json secret = state_to_secret(kFull, "ns", "name", "7");
  secret["metadata"]["annotations"]["cert-manager.io/certificate-name"] = "gate";
  const auto read = secret_to_state(secret);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message.find("Secret ns/name belongs to a cert-manager Certificate") == 0);
}

}  // namespace secret_form_test
