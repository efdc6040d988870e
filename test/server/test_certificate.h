// Certificates for localhost and for clients, made by OpenSSL in a millisecond each.
#pragma once

#include <doctest/doctest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace muster::test {

struct TestCertificate {
  std::string chain_pem;
  std::string key_pem;
};

inline std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

inline void add_extension(X509* certificate, int kind, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()), X509_EXTENSION_free);
  REQUIRE(extension);
  REQUIRE(X509_add_ext(certificate, extension.get(), -1) == 1);
}

using TestKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using TestX509 = std::unique_ptr<X509, decltype(&X509_free)>;

// Names and key, not signed yet. `name` becomes the common name, by which a test tells certificates apart.
inline TestX509 draft_certificate(const std::string& name, EVP_PKEY* key) {
  TestX509 certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), subject);
  return certificate;
}

inline TestCertificate to_pem(X509* certificate, EVP_PKEY* key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> chain(BIO_new(BIO_s_mem()), BIO_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> secret(BIO_new(BIO_s_mem()), BIO_free);
  REQUIRE(PEM_write_bio_X509(chain.get(), certificate) == 1);
  REQUIRE(PEM_write_bio_PrivateKey(secret.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {text_of(chain.get()), text_of(secret.get())};
}

// Signs itself.
inline TestCertificate make_certificate(const std::string& name) {
  const TestKey key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  REQUIRE(key);
  const TestX509 certificate = draft_certificate(name, key.get());
  REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  return to_pem(certificate.get(), key.get());
}

// Signs others' certificates.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name)
      : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), certificate_(draft_certificate(name, key_.get())) {
    add_extension(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate_.get(), NID_key_usage, "critical,keyCertSign");
    REQUIRE(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0);
  }
  std::string pem() const { return to_pem(certificate_.get(), key_.get()).chain_pem; }
  // `usage`: "clientAuth" or "serverAuth". `dns` can be empty.
  TestCertificate issue(const std::string& name, const std::string& usage = "clientAuth",
                        const std::string& dns = "") const {
    const TestKey key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const TestX509 certificate = draft_certificate(name, key.get());
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
    add_extension(certificate.get(), NID_ext_key_usage, usage);
    if (!dns.empty()) add_extension(certificate.get(), NID_subject_alt_name, "DNS:" + dns);
    REQUIRE(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0);
    return to_pem(certificate.get(), key.get());
  }

 private:
  const TestKey key_;
  const TestX509 certificate_;
};

}  // namespace muster::test
