#include "kube/transport/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <vector>

#include "base/freed_by.h"

namespace muster::kube {
namespace {

using Bio = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using Store = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;

thread_local std::string last_verify_problem;

// OpenSSL refuses a null pointer even for zero bytes, and an empty view can have a null pointer.
Bio reader(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.empty() ? "" : text.data(), static_cast<int>(text.size())));
}

std::vector<Certificate> read_certificates(const std::string& pem) {
  std::vector<Certificate> certificates;
  const Bio bio = reader(pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(certificate);
  }
  ERR_clear_error();  // the end of the text is reported as an error
  return certificates;
}

int on_verify(int ok, X509_STORE_CTX* context) {
  if (ok == 0) last_verify_problem = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
  return ok;
}

bool is_address(const std::string& name) {
  in6_addr bytes;
  return inet_pton(AF_INET, name.c_str(), &bytes) == 1 || inet_pton(AF_INET6, name.c_str(), &bytes) == 1;
}

// cpp-httplib sends the host that it connects to as the server name. Just before the first byte is sent, this
// code replaces it with the name that is verified; IP addresses are not sent (RFC 6066).
void on_handshake(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  const auto* name = static_cast<const std::string*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  char* announced = is_address(*name) ? nullptr : const_cast<char*>(name->c_str());
  SSL_set_tlsext_host_name(const_cast<SSL*>(ssl), announced);
}

}  // namespace

struct TlsMaterial::Parsed {
  Store store;
  std::vector<Certificate> chain;
  Key key;
};

TlsMaterial::TlsMaterial(TlsPem pem, std::unique_ptr<Parsed> parsed)
    : pem_(std::move(pem)), parsed_(std::move(parsed)) {}
TlsMaterial::~TlsMaterial() = default;

Result<std::shared_ptr<const TlsMaterial>> TlsMaterial::make(TlsPem pem) {
  auto parsed = std::make_unique<Parsed>();
  parsed->store.reset(X509_STORE_new());
  // A bundle can name an intermediate as the anchor, as Go's client accepts it.
  X509_STORE_set_flags(parsed->store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  if (pem.ca.empty()) {
    X509_STORE_set_default_paths(parsed->store.get());
  } else {
    const auto trusted = read_certificates(pem.ca);
    if (trusted.empty()) return fail("the certificate authority's data holds no certificate in PEM form");
    for (const auto& certificate : trusted) X509_STORE_add_cert(parsed->store.get(), certificate.get());
  }
  if (pem.certificate.empty() != pem.key.empty()) {
    return fail("a client certificate needs both a certificate and a key; one of them is missing");
  }
  if (!pem.certificate.empty()) {
    parsed->chain = read_certificates(pem.certificate);
    if (parsed->chain.empty()) return fail("the client certificate's data holds no certificate in PEM form");
    parsed->key.reset(PEM_read_bio_PrivateKey(reader(pem.key).get(), nullptr, nullptr, nullptr));
    if (!parsed->key) return fail("the client key's data holds no private key in PEM form, or an encrypted one");
    if (X509_check_private_key(parsed->chain.front().get(), parsed->key.get()) != 1) {
      ERR_clear_error();
      return fail("the client key does not belong to the client certificate");
    }
  }
  ERR_clear_error();
  return std::shared_ptr<const TlsMaterial>(new TlsMaterial(std::move(pem), std::move(parsed)));
}

void TlsMaterial::configure(ssl_ctx_st* context, const std::string& name, bool insecure) const {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_app_data(context, const_cast<std::string*>(&name));
  SSL_CTX_set_info_callback(context, on_handshake);
  if (!parsed_->chain.empty()) {
    SSL_CTX_use_certificate(context, parsed_->chain.front().get());
    for (size_t i = 1; i < parsed_->chain.size(); ++i) SSL_CTX_add1_chain_cert(context, parsed_->chain[i].get());
    SSL_CTX_use_PrivateKey(context, parsed_->key.get());
  }
  if (insecure) return;
  SSL_CTX_set1_cert_store(context, parsed_->store.get());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_verify);
  X509_VERIFY_PARAM* expected = SSL_CTX_get0_param(context);
  if (is_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str());
  } else {
    // Names count only as subject alternative names, as for every Go client.
    X509_VERIFY_PARAM_set_hostflags(expected,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size());
  }
}

std::string take_tls_problem() {
  std::string problem = std::exchange(last_verify_problem, {});
  if (problem.empty()) {
    if (const char* reason = ERR_reason_error_string(ERR_peek_last_error())) problem = reason;
  }
  ERR_clear_error();
  return problem;
}

}  // namespace muster::kube
