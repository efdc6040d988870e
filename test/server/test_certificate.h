// A self-signed certificate for localhost, made by OpenSSL in a millisecond.
#pragma once

#include <doctest/doctest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

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

// `name` becomes the common name, by which a test tells certificates apart.
inline TestCertificate make_certificate(const std::string& name) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  REQUIRE(key);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), subject);
  REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);

  const std::unique_ptr<BIO, decltype(&BIO_free)> chain(BIO_new(BIO_s_mem()), BIO_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> secret(BIO_new(BIO_s_mem()), BIO_free);
  REQUIRE(PEM_write_bio_X509(chain.get(), certificate.get()) == 1);
  REQUIRE(PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {text_of(chain.get()), text_of(secret.get())};
}

}  // namespace muster::test
