// The serving certificate and TLS settings, shared by every HTTPS listener.
//
// A new certificate makes a new SSL_CTX and swaps a pointer: existing connections keep
// their SSL_CTX, handshakes included, so that no connection fails at a rotation. There
// are no sessions and no tickets: the API server's client does not resume, a resumed
// session would outlive its certificate, and ticket keys would be one more secret to
// rotate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "server/transport/channel.h"
#include "server/transport/client_certificates.h"

struct ssl_ctx_st;

namespace muster::server {

struct TlsOptions {
  // As in Kueue's configuration (tls.minVersion): "VersionTLS12" or "VersionTLS13".
  // Empty means VersionTLS12. Older versions are refused.
  std::string min_version;
  // IANA names (tls.cipherSuites), for TLS 1.2 only, as Go has it: TLS 1.3's are not
  // for choosing. Empty means ECDHE with an AEAD. The client's preference decides among
  // them: each is good, and the client knows what its hardware is quick at.
  std::vector<std::string> cipher_suites;
};

// Thread-safe.
class TlsContext {
 public:
  // Fails on an unknown version or suite, naming the field and what is possible:
  // a setting that is quietly ignored is worse than a server that does not start.
  static Result<std::shared_ptr<TlsContext>> create(TlsOptions options);

  // Both in PEM; the leaf comes first in the chain. On failure the certificate
  // before stays in use.
  Outcome<> set_certificate(std::string_view chain_pem, std::string_view key_pem);

  // The server's end of a TLS connection; nullptr while there is no certificate. With `clients`
  // the peer is asked for one too; with `identified` and without `clients` as ask_for_any_certificate() does.
  std::unique_ptr<Channel> accept(FileDescriptor socket, std::shared_ptr<const ClientCertificates> clients = {},
                                  bool identified = false) const;

 private:
  using ContextPtr = std::shared_ptr<ssl_ctx_st>;

  explicit TlsContext(TlsOptions options) : options_(std::move(options)) {}
  Result<ContextPtr> make_context() const;
  ContextPtr current() const;

  const TlsOptions options_;
  mutable Mutex mutex_;
  ContextPtr current_ GUARDED_BY(mutex_);
};

}  // namespace muster::server
