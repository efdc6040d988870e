// Owning handles for the OpenSSL objects that certs/ works with, and OpenSSL's
// last error as a sentence. Only the .cpp files of certs/ include this.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/freed_by.h"
#include "base/result.h"
#include "base/secret_text.h"

namespace muster::certs {

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using BignumPtr = std::unique_ptr<BIGNUM, FreedBy<BN_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreedBy<X509_free>>;
using StorePtr = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;

// "<what>: <OpenSSL's reason>". Empties the thread's error queue, which would
// otherwise be blamed for a later failure on the same thread.
Failure<Error> openssl_failure(std::string what);

// Reading PEM: every certificate of a text in order, and a private key. Never asks
// for a passphrase on the terminal.
Result<std::vector<CertificatePtr>> parse_certificates(std::string_view pem);
Result<KeyPtr> parse_key(std::string_view pem);

std::string to_pem(X509* certificate);
SecretText to_pem(EVP_PKEY* key);

}  // namespace muster::certs
