// What clients of `muster serve` connect to: the listeners with their handlers, and the certificates that they show.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "commands/serve/api_server.h"
#include "commands/serve/decider.h"
#include "commands/serve/serve_flags.h"
#include "runtime/certificates/client_authorities.h"
#include "runtime/certificates/external_certificates.h"
#include "runtime/certificates/webhook_certificates.h"
#include "runtime/load_settings.h"
#include "runtime/serving.h"
#include "runtime/visibility/front_proxy_keeper.h"

namespace muster::commands {

class Front {
 public:
  // Whether these settings can be served together; the error names the settings.
  static Outcome<> check(const ServeFlags& flags, const LoadedConfiguration& configuration);
  // null: every client can send reviews.
  static Result<std::unique_ptr<runtime::ClientAuthoritiesFile>> open_webhook_clients(
      const MusterConfiguration& muster);

  // All must outlive it. `api` and `decider` are null without a cluster: rules then see nothing beyond the review.
  Front(const ServeFlags& flags, const runtime::Settings& settings, std::string own_namespace, const Clock& clock,
        std::unique_ptr<runtime::ClientAuthoritiesFile> webhook_clients, ApiServer* api, Decider* decider);
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  Outcome<> start();
  // After start().
  runtime::Serving& serving() { return *serving_; }
  runtime::WebhookCertificates& certificates() { return *certificates_; }
  // After the end of the decider, which names bundles to them.
  void end_certificates();

 private:
  const Configuration& kueue() const { return settings_.configuration.kueue; }
  Outcome<> make_serving();
  server::SettingsProvider rules();
  server::ViewProvider view();
  server::MetricsAccess metrics_access();
  std::optional<server::Explainer> explainer();
  std::optional<server::Lister> lister();
  server::Routes dashboard(std::optional<server::Lister> lister, std::optional<server::Explainer> explainer);
  std::optional<server::VisibilityApi> visibility(const std::optional<server::Lister>& lister);
  void start_certificates();

  const ServeFlags& flags_;
  const runtime::Settings& settings_;
  const std::string namespace_;
  const Clock& clock_;
  const std::unique_ptr<runtime::ClientAuthoritiesFile> webhook_clients_;
  ApiServer* const api_;
  Decider* const decider_;

  std::unique_ptr<runtime::FrontProxyKeeper> front_proxy_;  // null: the visibility API is not aggregated
  std::unique_ptr<runtime::Serving> serving_;
  std::unique_ptr<runtime::WebhookCertificates> certificates_;
  std::unique_ptr<runtime::ExternalCertificates> metrics_certificates_;  // null: the metrics share the webhooks'
};

}  // namespace muster::commands
