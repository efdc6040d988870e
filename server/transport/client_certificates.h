// The trusted clients of a listener that requests client certificates.
//
// A TLS client can have none: the API server has a certificate only for admission webhooks, not for
// conversions. So a connection without a certificate is unauthenticated, and routes say whether
// they answer it (`Route::strangers`); a certificate that no trusted CA has signed ends the
// handshake.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "server/transport/http.h"

struct ssl_st;
struct stack_st_X509_NAME;
struct x509_store_st;

namespace muster::server {

// The authorities of one time and the names that they can vouch for. Immutable.
class ClientAuthorities {
 public:
  // PEM certificates, at least one; each is trusted as it is, also one that another has signed.
  static Result<std::shared_ptr<const ClientAuthorities>> parse(const std::string& pem, std::vector<std::string> names);

  // Before the handshake. False when memory runs out.
  bool ask(ssl_st& connection) const;
  // After it: why the peer is not known; empty when it is. Signatures, validity and purpose are
  // checked as in a handshake, then the names.
  std::string stranger_because(ssl_st& connection) const;
  // The same facts, for callers with their own rules for names. After the handshake.
  PeerCertificate judge(ssl_st& connection) const;

 private:
  using StorePtr = std::unique_ptr<x509_store_st, void (*)(x509_store_st*)>;
  using SubjectsPtr = std::unique_ptr<stack_st_X509_NAME, void (*)(stack_st_X509_NAME*)>;

  ClientAuthorities(StorePtr store, SubjectsPtr subjects, std::vector<std::string> names);

  const StorePtr store_;
  const SubjectsPtr subjects_;  // sent to clients, which can have several certificates
  const std::vector<std::string> names_;
};

// Before the handshake: requests a certificate of any CA, and accepts every peer. The handler verifies the certificate
// later, so that the CAs can be unknown now, and a refusal is an answer and not a failed handshake. The handshake still
// proves that the peer holds its key.
void ask_for_any_certificate(ssl_st& connection);

// Thread-safe.
class ClientCertificates {
 public:
  // `names`: the common name or a DNS name of the certificate must be one of these; empty: any.
  static Result<std::shared_ptr<ClientCertificates>> create(const std::string& authorities_pem,
                                                            std::vector<std::string> names);

  // Connections that are open already are judged by these before their next request. On failure
  // the authorities before stay.
  Outcome<> set_authorities(const std::string& pem);

  std::shared_ptr<const ClientAuthorities> current() const;

 private:
  ClientCertificates(std::shared_ptr<const ClientAuthorities> first, std::vector<std::string> names);

  const std::vector<std::string> names_;
  mutable Mutex mutex_;
  std::shared_ptr<const ClientAuthorities> current_ GUARDED_BY(mutex_);
};

}  // namespace muster::server
