#include "certs/openssl_handles.h"

#include <openssl/pem.h>

namespace muster::certs {
namespace {

// OpenSSL refuses a null pointer even for no bytes, and an empty view can be one.
BioPtr reader(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.empty() ? "" : text.data(), static_cast<int>(text.size())));
}

// OpenSSL overwrites it when `bio` goes.
std::string_view written(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

int no_passphrase(char*, int, int, void*) {
  return -1;
}

}  // namespace

Failure<Error> openssl_failure(std::string what) {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  if (reason != nullptr) what.append(": ").append(reason);
  ERR_clear_error();
  return fail(std::move(what));
}

Result<std::vector<CertificatePtr>> parse_certificates(std::string_view pem) {
  const BioPtr bio = reader(pem);
  std::vector<CertificatePtr> certificates;
  // PEM_read_bio_X509 skips blocks of other types by itself and reports the end of
  // the text as "no start line".
  while (true) {
    ERR_clear_error();
    CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
    if (certificate) {
      certificates.push_back(std::move(certificate));
      continue;
    }
    const unsigned long code = ERR_peek_last_error();
    if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) break;
    return openssl_failure("certificate " + std::to_string(certificates.size() + 1) + " of the text is unreadable");
  }
  ERR_clear_error();
  return certificates;
}

Result<KeyPtr> parse_key(std::string_view pem) {
  ERR_clear_error();
  const BioPtr bio = reader(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return openssl_failure("the private key is unreadable");
  return key;
}

std::string to_pem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return std::string(written(bio.get()));
}

SecretText to_pem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return written(bio.get());
}

}  // namespace muster::certs
