// Where all replicas keep the one certificate state that they share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "certs/bundle.h"

namespace muster::certs {

struct StoredCertificates {
  CertificateState state;
  // Opaque: a Secret's resourceVersion, a directory's digest. Empty: nothing is
  // stored yet, so a write must create it.
  std::string version;
};

enum class StoreOutcome {
  kWritten,
  kConflict,  // another write since `expected_version` was read: read again
};

// Called by one thread at a time. Several stores, in several processes, can stand
// for the same content; of two writes that expect the same version at most one wins.
class CertificateStore {
 public:
  virtual ~CertificateStore() = default;

  // The stored state, even if it is damaged: plan() judges it. An error means that it could not be read, or has another
  // owner; then nothing is written.
  virtual Result<StoredCertificates> read() = 0;
  virtual Result<StoreOutcome> write(const CertificateState& state, const std::string& expected_version) = 0;
};

// The Secret's form, pure; commands/ puts an API client behind the interface.
//
// Keys: tls.crt, tls.key, ca.crt (the CA that signs), ca.key, and while a CA is being renewed
// next-ca.crt, next-ca.key and previous-ca.crt. The names are those of a kubernetes.io/tls Secret, for
// other readers; the type is Opaque, because a Secret's type cannot change and users create Opaque
// Secrets beforehand.
//
// Fields that are no base64 are left empty, which plan() repairs. A Secret that
// cert-manager says is its own is an error: two writers would fight for it.
Result<StoredCertificates> secret_to_state(const nlohmann::json& secret);
// The whole object to send: with the resourceVersion for a PUT when `version` is not
// empty, without for a POST.
nlohmann::json state_to_secret(const CertificateState& state, std::string_view namespace_name, std::string_view name,
                               std::string_view version);

// The seven texts with their key in a Secret and name as a file, in one place.
struct CertificateField {
  std::string_view key;
  std::string CertificateState::*text;  // or
  KeyPair CertificateState::*pair;
  bool secret;  // the pair's private key, not its certificate

  std::string_view of(const CertificateState& state) const {
    if (text) return state.*text;
    if (secret) return (state.*pair).key;
    return (state.*pair).certificate;
  }
  void set(CertificateState& state, std::string_view value) const {
    if (text)
      state.*text = value;
    else if (secret)
      (state.*pair).key = value;
    else
      (state.*pair).certificate = value;
  }
};
inline constexpr CertificateField kCertificateFields[] = {
    {"ca.crt", nullptr, &CertificateState::authority, false},
    {"ca.key", nullptr, &CertificateState::authority, true},
    {"next-ca.crt", nullptr, &CertificateState::next, false},
    {"next-ca.key", nullptr, &CertificateState::next, true},
    {"previous-ca.crt", &CertificateState::previous, nullptr, false},
    {"tls.crt", nullptr, &CertificateState::leaf, false},
    {"tls.key", nullptr, &CertificateState::leaf, true},
};

}  // namespace muster::certs
