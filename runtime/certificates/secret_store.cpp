#include "runtime/certificates/secret_store.h"

#include <nlohmann/json.hpp>

#include "api/codec/cleanse_texts.h"

namespace muster::runtime {
namespace {
const kube::Resource kSecrets{"", "v1", "secrets", true, "Secret"};
}

std::string SecretStore::about(const kube::StatusError& error) const {
  return "Secret " + namespace_ + "/" + name_ + ": " + error.message;
}

Result<certs::StoredCertificates> SecretStore::read() {
  auto secret = api_.get(kSecrets, namespace_, name_, stop_);
  if (!secret) {
    if (secret.error().not_found()) return certs::StoredCertificates{};
    return fail(about(secret.error()));
  }
  auto state = certs::secret_to_state(*secret);
  cleanse_texts(*secret);
  return state;
}

Result<certs::StoreOutcome> SecretStore::write(const certs::CertificateState& state,
                                               const std::string& expected_version) {
  nlohmann::json secret = certs::state_to_secret(state, namespace_, name_, expected_version);
  auto written = expected_version.empty() ? api_.create(kSecrets, namespace_, secret, {}, stop_)
                                          : api_.update(kSecrets, namespace_, name_, secret, {}, stop_);
  cleanse_texts(secret);
  if (written) {
    cleanse_texts(*written);
    return certs::StoreOutcome::kWritten;
  }
  const kube::StatusError& error = written.error();
  // A deletion in the meantime is a conflict too: the object that was read no longer exists. A create answers
  // 404 only if the namespace is missing.
  if (error.conflict() || error.already_exists() || (error.not_found() && !expected_version.empty())) {
    return certs::StoreOutcome::kConflict;
  }
  return fail(about(error));
}

}  // namespace muster::runtime
