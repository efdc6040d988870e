// Whom a listener knows, where it asks its clients for certificates.
//
// A TLS client may have none, and of the API server that is true of conversions: it finds a
// certificate for admission webhooks alone. So a connection without one is a stranger's, and
// routes say whether they answer strangers (Route::strangers); a certificate that no trusted
// authority has signed ends the handshake.
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

namespace muster {

// The authorities of one time and the names that they may vouch for. Immutable.
class ClientAuthorities {
 public:
  // PEM certificates, at least one; each is trusted as it is, also one that another has signed.
  static Result<std::shared_ptr<const ClientAuthorities>> parse(const std::string& pem, std::vector<std::string> names);

  // Before the handshake. False when memory runs out.
  bool ask(ssl_st& connection) const;
  // After it: why the peer is not known; empty when it is. Signatures, validity and purpose are
  // checked as in a handshake, then the names.
  std::string stranger_because(ssl_st& connection) const;
  // The same facts, for who decides by names of its own. After the handshake.
  PeerCertificate judge(ssl_st& connection) const;

 private:
  using StorePtr = std::unique_ptr<x509_store_st, void (*)(x509_store_st*)>;
  using SubjectsPtr = std::unique_ptr<stack_st_X509_NAME, void (*)(stack_st_X509_NAME*)>;

  ClientAuthorities(StorePtr store, SubjectsPtr subjects, std::vector<std::string> names);

  const StorePtr store_;
  const SubjectsPtr subjects_;  // told to clients, which may have several certificates
  const std::vector<std::string> names_;
};

// Before the handshake: asks for a certificate of whatever authority, and lets every peer in. Who
// serves it judges the certificate later, so that authorities need not be known yet and a refusal is
// an answer and not a broken handshake. That the peer holds its key is proven all the same.
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

}  // namespace muster
