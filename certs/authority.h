// Certificates as PEM text: making a private CA and serving certificates, and
// reading and checking what others made. ECDSA P-256 with SHA-256 throughout, the
// smallest keys that every API server of the supported range accepts.
//
// Time is an argument. Serial numbers and keys come from OpenSSL's random
// generator: this folder is an edge, and a key by a test's seed would be worth
// nothing. All functions are thread-safe; keys never leave the returned values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret_text.h"

namespace muster::certs {

// X.509 counts whole seconds: `not_before` is rounded down and `not_after` too, so
// that no certificate lives longer than was asked.
struct Validity {
  TimePoint not_before;
  TimePoint not_after;
};

// Both PEM. The certificate can be a chain, leaf first; the key is PKCS#8.
struct KeyPair {
  std::string certificate;
  SecretText key;

  bool operator==(const KeyPair&) const = default;
};

// What a client can call the server: the API server asks for
// "<service>.<namespace>.svc", and for the host of a webhook's URL.
struct ServingNames {
  std::vector<std::string> dns;
  std::vector<std::string> ips;  // "127.0.0.1", "::1"

  bool operator==(const ServingNames&) const = default;
};
// The names of a Service inside its cluster, shortest first.
ServingNames service_names(std::string_view service, std::string_view namespace_name);
// Sorted, without duplicates, DNS names in lower case, addresses in their usual
// spelling: two sets of names are the same when their canonical forms are equal.
// What is no address stays as it is.
ServingNames canonical(ServingNames names);

// What is written in a certificate.
struct CertificateFacts {
  TimePoint not_before;
  TimePoint not_after;
  std::string serial;       // upper-case hex
  std::string common_name;  // empty when there is none
  ServingNames names;       // canonical
  bool is_authority = false;
};

// A self-signed CA. It can sign leaves only (path length 0).
Result<KeyPair> make_authority(std::string_view common_name, Validity validity);

// A serving certificate for `names`, signed by `authority`. It never outlives its
// CA: not_after is cut to the CA's. Fails when the CA's key does not fit its
// certificate, when a name is no DNS name or IP address, or when there is no name.
Result<KeyPair> make_leaf(const KeyPair& authority, const ServingNames& names, Validity validity);

// The first certificate of a PEM text.
Result<CertificateFacts> read_certificate(std::string_view pem);

// The certificates of a bundle, one PEM text each in one canonical spelling, in
// order. Other PEM blocks and text between blocks are skipped; a block that is
// marked as a certificate and is none is an error.
Result<std::vector<std::string>> split_bundle(std::string_view pem);

// Whether `key` belongs to the first certificate. The error says which of the two
// is unreadable, or that they do not fit.
Outcome<> check_key(const KeyPair& pair);

// Whether a client that trusts `bundle` accepts the chain at `at`: signatures,
// validity and purpose as a TLS client checks them, and, when `host` is not empty,
// the name too. The error is OpenSSL's reason.
Outcome<> verify_chain(std::string_view chain, std::string_view bundle, TimePoint at, std::string_view host = {});

}  // namespace muster::certs
