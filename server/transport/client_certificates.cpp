#include "server/transport/client_certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>
#include <string_view>
#include <utility>

#include "base/freed_by.h"

namespace muster::server {
namespace {

// Limit for the certificates of an unknown client; three usual certificates take 5 kB.
constexpr long kMaxChainBytes = 16 * 1024;
constexpr int kMaxChainDepth = 5;

constexpr std::string_view kWhoIsKnown =
    "muster answers this only to clients with a certificate of webhookClientCAFile";

void free_subjects(STACK_OF(X509_NAME) * subjects) {
  sk_X509_NAME_pop_free(subjects, X509_NAME_free);
}

// As it is written in the certificate: with a NUL inside it is equal to no name of ours.
std::string_view text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<size_t>(ASN1_STRING_length(text))};
}

std::vector<std::string> common_names_in(X509* certificate) {
  std::vector<std::string> names;
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (int i = -1; (i = X509_NAME_get_index_by_NID(subject, NID_commonName, i)) >= 0;)
    names.emplace_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i))));
  return names;
}

std::vector<std::string> names_in(X509* certificate) {
  std::vector<std::string> names = common_names_in(certificate);
  const std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>> others(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; others && i < sk_GENERAL_NAME_num(others.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(others.get(), i);
    if (name->type == GEN_DNS) names.emplace_back(text_of(name->d.dNSName));
  }
  return names;
}

// Empty when `store` trusts the client's certificate now.
std::string distrust_of(x509_store_st* store, ssl_st& connection, X509* certificate) {
  const std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  if (!context || X509_STORE_CTX_init(context.get(), store, certificate, SSL_get_peer_cert_chain(&connection)) != 1 ||
      X509_STORE_CTX_set_default(context.get(), "ssl_client") != 1) {
    return "out of memory";
  }
  X509_STORE_CTX_set_depth(context.get(), kMaxChainDepth);
  if (X509_verify_cert(context.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

}  // namespace

ClientAuthorities::ClientAuthorities(StorePtr store, SubjectsPtr subjects, std::vector<std::string> names)
    : store_(std::move(store)), subjects_(std::move(subjects)), names_(std::move(names)) {}

Result<std::shared_ptr<const ClientAuthorities>> ClientAuthorities::parse(const std::string& pem,
                                                                          std::vector<std::string> names) {
  StorePtr store(X509_STORE_new(), X509_STORE_free);
  SubjectsPtr subjects(sk_X509_NAME_new_null(), free_subjects);
  const std::unique_ptr<BIO, FreedBy<BIO_free>> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<size_t>(pem.size(), INT_MAX))));
  if (!store || !subjects || !text) return fail("out of memory");
  ERR_clear_error();
  while (
      std::unique_ptr<X509, FreedBy<X509_free>> authority{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    X509_NAME* subject = X509_NAME_dup(X509_get_subject_name(authority.get()));
    if (subject == nullptr || sk_X509_NAME_push(subjects.get(), subject) == 0 ||
        X509_STORE_add_cert(store.get(), authority.get()) != 1) {
      return fail("a certificate cannot be used as an authority");
    }
  }
  // "No start line" is how the end of a PEM text is reported.
  const bool damaged = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
  ERR_clear_error();
  const int count = sk_X509_NAME_num(subjects.get());
  if (damaged) return fail("PEM certificate number " + std::to_string(count + 1) + " is damaged");
  if (count == 0) return fail("there is no PEM certificate in it; it must hold those of the clients' authorities");
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return std::shared_ptr<const ClientAuthorities>(
      new ClientAuthorities(std::move(store), std::move(subjects), std::move(names)));
}

bool ClientAuthorities::ask(ssl_st& connection) const {
  STACK_OF(X509_NAME)* subjects = SSL_dup_CA_list(subjects_.get());
  if (subjects == nullptr || SSL_set1_verify_cert_store(&connection, store_.get()) != 1) {
    free_subjects(subjects);
    return false;
  }
  SSL_set_client_CA_list(&connection, subjects);
  SSL_set_max_cert_list(&connection, kMaxChainBytes);
  SSL_set_verify_depth(&connection, kMaxChainDepth);
  SSL_set_verify(&connection, SSL_VERIFY_PEER, nullptr);
  return true;
}

std::string ClientAuthorities::stranger_because(ssl_st& connection) const {
  X509* certificate = SSL_get0_peer_certificate(&connection);
  if (certificate == nullptr) return std::string(kWhoIsKnown).append("; this one has shown none");
  if (const std::string why = distrust_of(store_.get(), connection, certificate); !why.empty())
    return std::string(kWhoIsKnown).append("; the one of this client is no longer trusted: ").append(why);
  if (names_.empty()) return "";
  const std::vector<std::string> names = names_in(certificate);
  const bool named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  });
  return named ? "" : std::string(kWhoIsKnown).append(" and a name of webhookClientNames");
}

PeerCertificate ClientAuthorities::judge(ssl_st& connection) const {
  X509* certificate = SSL_get0_peer_certificate(&connection);
  if (certificate == nullptr) return {};
  ERR_clear_error();
  PeerCertificate judged{true, distrust_of(store_.get(), connection, certificate), common_names_in(certificate)};
  ERR_clear_error();
  return judged;
}

void ask_for_any_certificate(ssl_st& connection) {
  SSL_set_max_cert_list(&connection, kMaxChainBytes);
  SSL_set_verify_depth(&connection, kMaxChainDepth);
  SSL_set_verify(&connection, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
}

ClientCertificates::ClientCertificates(std::shared_ptr<const ClientAuthorities> first, std::vector<std::string> names)
    : names_(std::move(names)), current_(std::move(first)) {}

Result<std::shared_ptr<ClientCertificates>> ClientCertificates::create(const std::string& authorities_pem,
                                                                       std::vector<std::string> names) {
  auto first = ClientAuthorities::parse(authorities_pem, names);
  if (!first) return fail(first.error().message);
  return std::shared_ptr<ClientCertificates>(new ClientCertificates(std::move(*first), std::move(names)));
}

Outcome<> ClientCertificates::set_authorities(const std::string& pem) {
  auto next = ClientAuthorities::parse(pem, names_);
  if (!next) return fail(next.error().message);
  MutexLock lock(mutex_);
  current_ = std::move(*next);
  return Done{};
}

std::shared_ptr<const ClientAuthorities> ClientCertificates::current() const {
  MutexLock lock(mutex_);
  return current_;
}

}  // namespace muster::server
