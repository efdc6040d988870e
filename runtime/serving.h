// The listeners of muster and what they share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/config/configuration.h"
#include "runtime/log_observers.h"
#include "server/convert_handler.h"
#include "server/explain_route.h"
#include "server/http_server.h"
#include "server/lists_route.h"
#include "server/metrics/metrics.h"
#include "server/metrics/watch_ages.h"
#include "server/metrics_server.h"
#include "server/probes.h"
#include "server/review_handler.h"
#include "server/transport/client_certificates.h"
#include "server/transport/tls_context.h"
#include "server/visibility_route.h"

namespace muster::runtime {

struct ListenAddresses {
  std::string webhook, health_probe, metrics;  // "0" or empty: that listener is off (not for webhook)
  std::string visibility{};                    // empty: off
};

class Serving {
 public:
  struct Options {
    ListenAddresses addresses;
    server::ProbePaths probe_paths{};
    TlsSettings tls;
    size_t workers = 4;
    server::SettingsProvider rules;
    server::ViewProvider view;
    server::MetricsAccess metrics_access;          // who can read the metrics
    std::optional<server::Explainer> explainer{};  // nullopt: no cluster
    std::optional<server::Lister> lister{};        // the same
    server::Routes further{};                      // at the port of the metrics too
    // Kueue's visibility API at the port of the metrics; off where its feature gate is.
    bool visibility_on_demand = true;
    // The same for an API server, with addresses.visibility.
    std::optional<server::VisibilityApi> visibility{};
    // Who can ask for reviews; null: every client.
    std::shared_ptr<const server::ClientCertificates> webhook_clients{};
    // The metrics have their own certificate (set_metrics_certificate()).
    bool own_metrics_certificate = false;
    size_t memory_limit = server::kDefaultMemoryLimit;
    const Clock* clock = &system_clock();
  };

  // Fails on unusable TLS settings; opens no socket yet.
  static Result<std::unique_ptr<Serving>> make(Options options);

  // Probes first, so that the kubelet can see why muster is not ready.
  Outcome<> start();

  // Any thread.
  void set_certificate(std::string_view chain_pem, std::string_view key_pem, TimePoint expires);
  // With own_metrics_certificate; without one no client can connect to the metrics.
  void set_metrics_certificate(std::string_view chain_pem, std::string_view key_pem);
  void set_synced() { readiness_.set_ready("sync"); }
  // See Readiness::set_sick().
  void set_sick(std::string reason) { readiness_.set_sick(std::move(reason)); }
  void set_unsynced(const std::string& why) { readiness_.set_unready("sync", why); }
  // Why muster must wait for Kueue to go; empty: it need not.
  void set_kueue(const std::string& why) {
    if (why.empty())
      readiness_.set_ready("kueue");
    else
      readiness_.set_unready("kueue", why);
  }
  server::Metrics& metrics() { return metrics_; }
  // Before start().
  void watch_ages(const std::shared_ptr<server::WatchAges>& ages);

  // After start(): where the probes are; 0: that listener is off.
  uint16_t probe_port() const { return probes_ ? probes_->port() : 0; }
  uint16_t metrics_port() const { return metrics_server_ ? metrics_server_->port() : 0; }
  uint16_t webhook_port() const { return webhook_.port(); }
  uint16_t visibility_port() const { return visibility_ ? visibility_->port() : 0; }

  // Unready at once; then, after `delay`, no further connections, and what is under
  // way is answered.
  void stop(Duration delay);

 private:
  Serving(Options options, std::shared_ptr<server::TlsContext> tls, std::shared_ptr<server::TlsContext> metrics_tls);
  server::Routes webhook_routes();
  server::Routes reader_routes() const;
  server::MemoryBudgets budgets() const { return server::budgets_of(options_.memory_limit); }
  server::HttpServerOptions webhook_listener();
  server::HttpServerOptions visibility_listener();
  server::HttpServerOptions listener(const std::string& address, std::shared_ptr<server::TlsContext> tls,
                                     size_t workers);

  const Options options_;
  ServerLog log_;
  server::Readiness readiness_;
  server::Metrics metrics_;
  std::shared_ptr<server::TlsContext> tls_, metrics_tls_;  // can be the same
  server::ReviewHandler handler_;
  server::ConvertHandler converter_;
  server::HttpServer webhook_;
  std::unique_ptr<server::ProbeServer> probes_;
  std::unique_ptr<server::MetricsServer> metrics_server_;
  std::unique_ptr<server::HttpServer> visibility_;
};

}  // namespace muster::runtime
