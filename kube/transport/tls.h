// The data of a TLS connection to the API server: trusted CAs and the client's identity.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/secret_text.h"

struct ssl_ctx_st;

namespace muster::kube {

// PEM texts. An empty `ca` means the system's own roots; empty certificate and key
// mean that no client certificate is shown.
struct TlsPem {
  std::string ca;
  std::string certificate;  // the leaf first, then its chain
  SecretText key;

  bool operator==(const TlsPem&) const = default;
};

// TlsPem, parsed once and shared by all connections. Immutable, thread-safe.
class TlsMaterial {
 public:
  // Fails on PEM that holds no certificate and on a key that does not fit.
  static Result<std::shared_ptr<const TlsMaterial>> make(TlsPem pem);
  ~TlsMaterial();
  TlsMaterial(const TlsMaterial&) = delete;
  TlsMaterial& operator=(const TlsMaterial&) = delete;

  const TlsPem& pem() const { return pem_; }

  // Makes every handshake of `context` verify the server against `ca` and against
  // `name` (a DNS name or an IP address, matched with the certificate's subject
  // alternative names), and announces it by SNI unless it is an address. TLS 1.2 at
  // least. `insecure` verifies nothing. `name` must live as long as `context`.
  void configure(ssl_ctx_st* context, const std::string& name, bool insecure) const;

 private:
  struct Parsed;
  TlsMaterial(TlsPem pem, std::unique_ptr<Parsed> parsed);

  const TlsPem pem_;
  const std::unique_ptr<const Parsed> parsed_;
};

// Why the last handshake of this thread failed ("certificate has expired"); empty
// when OpenSSL left no reason. Forgets it.
std::string take_tls_problem();

}  // namespace muster::kube
