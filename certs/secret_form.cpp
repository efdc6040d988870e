#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/encoding.h"
#include "certs/store.h"

namespace muster::certs {

Result<StoredCertificates> secret_to_state(const nlohmann::json& secret) {
  const std::string name = std::string(string_at(secret, {"metadata", "namespace"})) + "/" +
                           std::string(string_at(secret, {"metadata", "name"}));
  if (annotation(secret, "cert-manager.io/certificate-name")) {
    return fail(
        "Secret " + name +
        " belongs to a cert-manager Certificate, so muster does not write it: mount it into muster's pods and "
        "name the mounted directory as the directory of external certificates, or let muster use another Secret");
  }
  StoredCertificates stored;
  stored.version = string_at(secret, {"metadata", "resourceVersion"});
  for (const CertificateField& field : kCertificateFields) {
    auto text = base64_decode(string_at(secret, {"data", field.key}));
    if (!text) continue;
    field.set(stored.state, *text);
    cleanse(*text);
  }
  return stored;
}

nlohmann::json state_to_secret(const CertificateState& state, std::string_view namespace_name, std::string_view name,
                               std::string_view version) {
  nlohmann::json secret = {
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"type", "Opaque"},
      {"metadata",
       {{"name", name},
        {"namespace", namespace_name},
        {"labels", {{"app.kubernetes.io/name", "muster"}, {"app.kubernetes.io/managed-by", "muster"}}}}},
  };
  if (!version.empty()) secret["metadata"]["resourceVersion"] = version;
  for (const CertificateField& field : kCertificateFields) {
    if (!field.of(state).empty()) secret["data"][std::string(field.key)] = base64_encode(field.of(state));
  }
  return secret;
}

}  // namespace muster::certs
