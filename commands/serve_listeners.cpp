// The listeners of a running `muster serve`, and their handlers.
#include "commands/serve_process.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/codec/json.h"
#include "commands/dashboard/embedded.h"
#include "runtime/explain_service.h"
#include "runtime/memory_limit.h"
#include "runtime/readers/queue_lists.h"
#include "runtime/visibility/visibility_service.h"
#include "server/dashboard_route.h"
#include "state/metrics/queue_gauges.h"

namespace muster::commands {
namespace {

// From flags over file.
runtime::ListenAddresses listen_addresses(const ServeFlags& flags, const Configuration& configuration) {
  const WebhookSettings& webhook = configuration.webhook;
  return {flags.webhook_bind_address.value_or(webhook.host + ":" + std::to_string(webhook.port)),
          flags.health_probe_bind_address.value_or(configuration.health_probe_bind_address),
          flags.metrics_bind_address.value_or(configuration.metrics_bind_address), ""};
}

server::ProbePaths probe_paths(const Configuration& configuration) {
  const nlohmann::json& health = object_at(configuration.effective, {"health"});
  return server::probe_paths(string_at(health, {"livenessEndpointName"}), string_at(health, {"readinessEndpointName"}));
}

std::string visibility_address(const Configuration& configuration) {
  const auto& [address, port] = configuration.visibility_server;
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

// More workers than cores only compete for the cores (docs/benchmarks.md). A second worker serves small reviews
// while a large review is parsed.
size_t worker_count(const ServeFlags& flags) {
  if (flags.workers > 0) return static_cast<size_t>(flags.workers);
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 2, 16);
}

}  // namespace

void ServeProcess::guard_engine() {
  guard_ = std::make_unique<runtime::EngineGuard>(
      *engine_watch_, clock_,
      runtime::EngineGuard::Callbacks{.stuck =
                                          [this](const std::string& step) {
                                            reports_.stuck(step);
                                            leadership_->pause(runtime::Leadership::Pause::kStuck);
                                          },
                                      .goes_on =
                                          [this] {
                                            reports_.goes_on();
                                            leadership_->resume(runtime::Leadership::Pause::kStuck);
                                          }});
}

std::optional<GaugeReadings> ServeProcess::read_gauges() {
  GaugeReadings readings;
  runtime::EngineLoop* loop = deciding();
  const bool asked = loop != nullptr && loop->ask([&](const engine::Engine& engine) {
    readings = {engine.leads(), state::queue_gauges(engine.state(), engine.decisions(), engine.queue_settings())};
    const auto add = [&](const std::vector<GaugeReading>& more) {
      readings.gauges.insert(readings.gauges.end(), more.begin(), more.end());
    };
    add(engine.unsupported().gauges());
    add(engine.state().kept_bytes().gauges());
    std::optional<MonotonicTime> until = leadership_->leads_until();
    if (until) until = std::min(*until, clock_.now().monotonic);
    add(engine.resource_seconds().read(engine.state(), until));
  });
  return asked ? std::optional(std::move(readings)) : std::nullopt;
}

bool ServeProcess::serves_metrics() const {
  const std::string address = listen_addresses(flags_, kueue()).metrics;
  return !address.empty() && address != "0";
}

Outcome<> ServeProcess::find_webhook_clients() {
  const MusterConfiguration& muster = settings_.configuration.muster;
  if (!muster.webhook_client_ca_file) return Done{};
  auto file = runtime::ClientAuthoritiesFile::open(*muster.webhook_client_ca_file, muster.webhook_client_names);
  if (!file) return fail(file.error().message);
  webhook_clients_ = std::move(*file);
  runtime::log_info("reviews are answered only to clients with a certificate",
                    {{"file", *muster.webhook_client_ca_file}});
  return Done{};
}

Outcome<> ServeProcess::start_serving() {
  server::ViewProvider view = [this]() -> ClusterViewPtr {
    runtime::EngineLoop* loop = deciding();
    return loop == nullptr ? nullptr : loop->view();
  };
  if (cluster_) {
    authorizer_ = std::make_unique<kube::Authorizer>(cluster_->review_api(), clock_, "", ending_.get_token());
    explain_authorizer_ = std::make_unique<kube::Authorizer>(
        cluster_->review_api(), clock_, std::string(manifests::kExplainAudience), ending_.get_token(),
        std::make_unique<kube::ReaderSessions>(cluster_->review_api(), clock_, namespace_));
    if (flags_.start_estimates) starts_ = runtime::make_start_recorder([this] { return deciding(); }, clock_);
  }
  const std::optional<server::Lister> lists = lister();
  const std::optional<server::Explainer> explains = explainer();
  runtime::ListenAddresses addresses = listen_addresses(flags_, kueue());
  if (settings_.configuration.muster.aggregated_visibility) addresses.visibility = visibility_address(kueue());
  if (!cluster_) view = [empty = std::make_shared<const ClusterView>()] { return empty; };
  auto serving =
      runtime::Serving::make({.addresses = std::move(addresses),
                              .probe_paths = probe_paths(kueue()),
                              .tls = kueue().tls,
                              .workers = worker_count(flags_),
                              .rules =
                                  [this] {
                                    MutexLock lock(mutex_);
                                    return rules_;
                                  },
                              .view = std::move(view),
                              .metrics_access = metrics_access(),
                              .explainer = explains,
                              .lister = lists,
                              .further = dashboard(lists, explains),
                              .visibility_on_demand = visibility_on_demand_enabled(kueue()),
                              .visibility = visibility(lists),
                              .webhook_clients = webhook_clients_ ? webhook_clients_->clients() : nullptr,
                              .own_metrics_certificate = settings_.configuration.muster.metrics_cert_dir.has_value(),
                              .memory_limit = runtime::memory_limit().value_or(server::kDefaultMemoryLimit)});
  if (!serving) return fail(serving.error().message);
  serving_ = std::move(*serving);
  reports_.set_serving(*serving_);
  if (cluster_) {
    serving_->metrics().include(cluster_->metrics().collectable());
    serving_->watch_ages(cluster_->metrics().watch_ages());
    serving_->metrics().include(queue_metrics_->collectable());
    serving_->metrics().include(engine_metrics_.collectable());
  }
  return serving_->start();
}

server::MetricsAccess ServeProcess::metrics_access() {
  if (!cluster_ || !flags_.metrics_authorization) return {};
  const auto by = [](kube::Authorizer& authorizer) {
    return [&authorizer](std::string_view token) {
      return runtime::decide_access(authorizer, token, {.verb = "get", .path = "/metrics"});
    };
  };
  return {by(*authorizer_), by(*explain_authorizer_)};
}

// With any setting of the metrics, a client of this path must be authenticated.
std::optional<server::Explainer> ServeProcess::explainer() {
  if (!cluster_) return std::nullopt;
  return runtime::make_explainer(
      *explain_authorizer_, [this] { return deciding(); },
      [this] {
        MutexLock lock(mutex_);
        return runtime::reconciler_settings_of(settings_, native_jobsets_, namespace_);
      },
      [this] { return cluster_->metrics().watch_ages()->notes(); }, [this] { return start_estimates(); },
      [this](const ObjectKey& key) { return history_.of(key); }, [this] { return leadership_->alarm(); }, clock_);
}

std::optional<server::Lister> ServeProcess::lister() {
  if (!cluster_) return std::nullopt;
  return runtime::make_lister(
      *explain_authorizer_, [this] { return deciding(); }, clock_, [this] { return start_estimates(); },
      [this] { return leadership_->alarm(); });
}

// Behind a proxy with login, the tokens are the tokens of the API server itself; tokens for muster alone are
// also accepted.
server::Routes ServeProcess::dashboard(std::optional<server::Lister> lister,
                                       std::optional<server::Explainer> explainer) {
  if (!settings_.configuration.muster.dashboard || !lister || !explainer) return {};
  const auto either = [this](std::string_view token, const kube::AccessQuestion& question) {
    const server::AuthDecision decision = runtime::decide_access(*explain_authorizer_, token, question);
    return decision == server::AuthDecision::kUnauthenticated ? runtime::decide_access(*authorizer_, token, question)
                                                              : decision;
  };
  lister->authorize = [either](std::string_view token, const server::ListAccess& access) {
    return either(token, runtime::question_of(access));
  };
  explainer->authorize = [either](std::string_view token, std::string_view verb, const ObjectKey& object) {
    return either(token, runtime::question_of(verb, object));
  };
  runtime::log_info("the dashboard is served at the port of the metrics", {{"path", server::kDashboardPath}});
  return server::dashboard_routes(dashboard_files(), std::move(lister), std::move(explainer));
}

std::optional<server::VisibilityApi> ServeProcess::visibility(const std::optional<server::Lister>& lister) {
  if (!lister || !settings_.configuration.muster.aggregated_visibility) return std::nullopt;
  front_proxy_ = std::make_unique<runtime::FrontProxyKeeper>(cluster_->api(), cluster_->timing());
  return runtime::make_visibility_api(*authorizer_, *front_proxy_, lister->snapshot);
}

void ServeProcess::start_certificates() {
  certificates_ = std::make_unique<runtime::WebhookCertificates>(
      kueue(),
      runtime::WebhookCertificates::Options{.leaf_lifetime = settings_.configuration.muster.certificate_lifetime,
                                            .directory = flags_.cert_dir,
                                            .url = flags_.webhook_url,
                                            .own_namespace = namespace_,
                                            .keeps_configurations = flags_.keep_webhook_configurations,
                                            .api = cluster_ ? &cluster_->api() : nullptr},
      clock_,
      runtime::WebhookCertificates::Callbacks{.serve =
                                                  [this](const certs::ServingCertificate& certificate) {
                                                    serving_->set_certificate(certificate.chain, certificate.key,
                                                                              certificate.expires);
                                                  },
                                              .issue = [this](const std::string& bundle) { issue_bundle(bundle); }},
      ending_.get_token());
  if (const auto& folder = settings_.configuration.muster.metrics_cert_dir) {
    metrics_certificates_ = std::make_unique<runtime::ExternalCertificates>(
        *folder, clock_, [this](const certs::ServingCertificate& certificate) {
          serving_->set_metrics_certificate(certificate.chain, certificate.key);
        });
  }
}

}  // namespace muster::commands
