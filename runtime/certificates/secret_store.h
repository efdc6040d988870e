// The certificates in a Secret of muster's own namespace, shared by all replicas.
#pragma once

#include <stop_token>
#include <string>

#include "certs/store.h"
#include "kube/api.h"

namespace muster::runtime {

// Needs get, create and update of that one Secret. A write expects the
// resourceVersion that was read, so of two replicas one wins and the other reads again.
class SecretStore : public certs::CertificateStore {
 public:
  // `api` must outlive the store. `stop` ends requests that are under way.
  SecretStore(kube::KubeApi& api, std::string ns, std::string name, std::stop_token stop = {})
      : api_(api), namespace_(std::move(ns)), name_(std::move(name)), stop_(std::move(stop)) {}

  Result<certs::StoredCertificates> read() override;
  Result<certs::StoreOutcome> write(const certs::CertificateState& state, const std::string& expected_version) override;

 private:
  // "Secret ns/name: <message>"
  std::string about(const kube::StatusError& error) const;

  kube::KubeApi& api_;
  const std::string namespace_, name_;
  const std::stop_token stop_;
};

}  // namespace muster::runtime
