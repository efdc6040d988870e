// Where the webhooks' certificate comes from: an authority of muster's own, or files that another program
// keeps (certManagement.internal.enable in the configuration).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/config/configuration.h"
#include "base/clock.h"
#include "certs/manager.h"
#include "kube/api.h"
#include "runtime/certificates/certificate_keeper.h"
#include "runtime/certificates/external_certificates.h"

namespace muster::runtime {

class WebhookCertificates {
 public:
  struct Options {
    Duration leaf_lifetime{};
    std::optional<std::string> directory;  // of the files; empty: what the configuration says
    std::string url;                       // the webhook URL of the command line, or empty
    std::string own_namespace;
    bool keeps_configurations = true;  // muster writes the bundle into the webhook configurations
    kube::KubeApi* api = nullptr;      // null: no cluster. Outlives this object
  };
  struct Callbacks {  // on a thread of this object
    std::function<void(const certs::ServingCertificate&)> serve;
    std::function<void(const std::string& bundle)> issue;  // what webhook configurations must hold
  };

  // Starts its thread. `stop` ends requests that are under way.
  WebhookCertificates(const Configuration& kueue, const Options& options, const Clock& clock, Callbacks callbacks,
                      const std::stop_token& stop);

  // What the webhook configurations hold at present. Thread-safe.
  void bundles_seen(std::vector<std::string> bundles);

 private:
  const Callbacks callbacks_;
  std::unique_ptr<CertificateKeeper> keeper_;       // with an authority of muster's own
  std::unique_ptr<ExternalCertificates> external_;  // otherwise
};

}  // namespace muster::runtime
