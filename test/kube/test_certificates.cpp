#include "test/kube/test_certificates.h"

#include <doctest/doctest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace muster::kube::test {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

template <class Write>
std::string to_pem(Write write) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free_all);
  REQUIRE(write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

void add_extension(X509* certificate, int id, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
  REQUIRE(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate unsigned_certificate(const std::string& common_name, EVP_PKEY* key, long lifetime_seconds) {
  static long serial = 1;
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), lifetime_seconds);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

}  // namespace

struct TestAuthority::Keys {
  Key key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  Certificate certificate{nullptr, X509_free};
};

TestAuthority::TestAuthority(const std::string& common_name) : keys_(std::make_unique<Keys>()) {
  keys_->certificate = unsigned_certificate(common_name, keys_->key.get(), 3600);
  X509* certificate = keys_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate, keys_->key.get(), EVP_sha256());
  pem_ = to_pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

TestAuthority::~TestAuthority() = default;

IssuedCertificate TestAuthority::issue(const std::string& common_name, const std::string& names,
                                       long lifetime_seconds) const {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const Certificate certificate = unsigned_certificate(common_name, key.get(), lifetime_seconds);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(keys_->certificate.get()));
  if (!names.empty()) add_extension(certificate.get(), NID_subject_alt_name, names.c_str());
  X509_sign(certificate.get(), keys_->key.get(), EVP_sha256());
  return {to_pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); }), to_pem([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace muster::kube::test
