// The listeners of a running `muster serve`, and their handlers.
#include "commands/serve/front.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/codec/json.h"
#include "commands/dashboard/embedded.h"
#include "manifests/webhooks.h"
#include "runtime/explain_service.h"
#include "runtime/memory_limit.h"
#include "runtime/readers/queue_lists.h"
#include "runtime/visibility/visibility_service.h"
#include "server/dashboard_route.h"

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

bool serves_metrics(const ServeFlags& flags, const Configuration& configuration) {
  const std::string address = listen_addresses(flags, configuration).metrics;
  return !address.empty() && address != "0";
}

}  // namespace

Outcome<> Front::check(const ServeFlags& flags, const LoadedConfiguration& configuration) {
  const MusterConfiguration& muster = configuration.muster;
  if (flags.standalone && muster.aggregated_visibility) {
    return fail(
        "aggregatedVisibility: muster runs --standalone, so there is no API server that could ask; leave one of them "
        "out");
  }
  if (flags.standalone && !flags.record_file.empty())
    return fail("--record: muster runs --standalone and decides nothing that could be recorded; leave one of them out");
  if (flags.standalone && muster.dashboard)
    return fail("dashboard: muster runs --standalone: it knows no cluster, so there is nothing to show; leave one out");
  if (muster.dashboard && !serves_metrics(flags, configuration.kueue))
    return fail("dashboard: there is no port of the metrics (metrics.bindAddress is \"0\"); leave one of them out");
  return Done{};
}

Result<std::unique_ptr<runtime::ClientAuthoritiesFile>> Front::open_webhook_clients(const MusterConfiguration& muster) {
  if (!muster.webhook_client_ca_file) return std::unique_ptr<runtime::ClientAuthoritiesFile>();
  auto file = runtime::ClientAuthoritiesFile::open(*muster.webhook_client_ca_file, muster.webhook_client_names);
  if (!file) return fail(file.error().message);
  runtime::log_info("reviews are answered only to clients with a certificate",
                    {{"file", *muster.webhook_client_ca_file}});
  return std::move(*file);
}

Front::Front(const ServeFlags& flags, const runtime::Settings& settings, std::string own_namespace, const Clock& clock,
             std::unique_ptr<runtime::ClientAuthoritiesFile> webhook_clients, ApiServer* api, Decider* decider)
    : flags_(flags),
      settings_(settings),
      namespace_(std::move(own_namespace)),
      clock_(clock),
      webhook_clients_(std::move(webhook_clients)),
      api_(api),
      decider_(decider) {}

Outcome<> Front::start() {
  if (auto made = make_serving(); !made) return made;
  if (auto started = serving_->start(); !started) return started;
  start_certificates();
  if (decider_ == nullptr) serving_->set_synced();
  return Done{};
}

void Front::end_certificates() {
  certificates_.reset();
  metrics_certificates_.reset();
}

server::SettingsProvider Front::rules() {
  if (decider_ != nullptr) return [this] { return decider_->rules(); };
  return
      [fixed = std::make_shared<const RuleSettings>(runtime::rule_settings_of(settings_, {}, false))] { return fixed; };
}

server::ViewProvider Front::view() {
  if (decider_ != nullptr) return [this] { return decider_->view(); };
  return [empty = std::make_shared<const ClusterView>()] { return empty; };
}

Outcome<> Front::make_serving() {
  const std::optional<server::Lister> lists = lister();
  const std::optional<server::Explainer> explains = explainer();
  runtime::ListenAddresses addresses = listen_addresses(flags_, kueue());
  if (settings_.configuration.muster.aggregated_visibility) addresses.visibility = visibility_address(kueue());
  auto serving =
      runtime::Serving::make({.addresses = std::move(addresses),
                              .probe_paths = probe_paths(kueue()),
                              .tls = kueue().tls,
                              .workers = worker_count(flags_),
                              .rules = rules(),
                              .view = view(),
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
  if (decider_ == nullptr) return Done{};
  serving_->metrics().include(api_->cluster().metrics().collectable());
  serving_->watch_ages(api_->cluster().metrics().watch_ages());
  serving_->metrics().include(decider_->queue_metrics().collectable());
  serving_->metrics().include(decider_->engine_metrics().collectable());
  return Done{};
}

server::MetricsAccess Front::metrics_access() {
  if (api_ == nullptr || !flags_.metrics_authorization) return {};
  const auto by = [](kube::Authorizer& authorizer) {
    return [&authorizer](std::string_view token) {
      return runtime::decide_access(authorizer, token, {.verb = "get", .path = "/metrics"});
    };
  };
  return {by(api_->authorizer()), by(api_->explain_authorizer())};
}

// With any setting of the metrics, a client of this path must be authenticated.
std::optional<server::Explainer> Front::explainer() {
  if (decider_ == nullptr) return std::nullopt;
  return runtime::make_explainer(
      api_->explain_authorizer(), [this] { return decider_->loop(); }, [this] { return decider_->settings(); },
      [this] { return api_->cluster().metrics().watch_ages()->notes(); }, [this] { return decider_->starts(); },
      [this](const ObjectKey& key) { return decider_->history_of(key); }, [this] { return decider_->alarm(); }, clock_);
}

std::optional<server::Lister> Front::lister() {
  if (decider_ == nullptr) return std::nullopt;
  return runtime::make_lister(
      api_->explain_authorizer(), [this] { return decider_->loop(); }, clock_, [this] { return decider_->starts(); },
      [this] { return decider_->alarm(); });
}

// Behind a proxy with login, the tokens are the tokens of the API server itself; tokens for muster alone are
// also accepted.
server::Routes Front::dashboard(std::optional<server::Lister> lister, std::optional<server::Explainer> explainer) {
  if (!settings_.configuration.muster.dashboard || !lister || !explainer) return {};
  const auto either = [this](std::string_view token, const kube::AccessQuestion& question) {
    const server::AuthDecision decision = runtime::decide_access(api_->explain_authorizer(), token, question);
    return decision == server::AuthDecision::kUnauthenticated
               ? runtime::decide_access(api_->authorizer(), token, question)
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

std::optional<server::VisibilityApi> Front::visibility(const std::optional<server::Lister>& lister) {
  if (!lister || !settings_.configuration.muster.aggregated_visibility) return std::nullopt;
  front_proxy_ = std::make_unique<runtime::FrontProxyKeeper>(api_->cluster().api(), api_->cluster().timing());
  return runtime::make_visibility_api(api_->authorizer(), *front_proxy_, lister->snapshot);
}

void Front::start_certificates() {
  certificates_ = std::make_unique<runtime::WebhookCertificates>(
      kueue(),
      runtime::WebhookCertificates::Options{.leaf_lifetime = settings_.configuration.muster.certificate_lifetime,
                                            .directory = flags_.cert_dir,
                                            .url = flags_.webhook_url,
                                            .own_namespace = namespace_,
                                            .keeps_configurations = flags_.keep_webhook_configurations,
                                            .api = api_ == nullptr ? nullptr : &api_->cluster().api()},
      clock_,
      runtime::WebhookCertificates::Callbacks{.serve =
                                                  [this](const certs::ServingCertificate& certificate) {
                                                    serving_->set_certificate(certificate.chain, certificate.key,
                                                                              certificate.expires);
                                                  },
                                              .issue =
                                                  [this](const std::string& bundle) {
                                                    if (decider_ != nullptr) decider_->issue_bundle(bundle);
                                                  }},
      api_ == nullptr ? std::stop_token() : api_->ending());
  if (const auto& folder = settings_.configuration.muster.metrics_cert_dir) {
    metrics_certificates_ = std::make_unique<runtime::ExternalCertificates>(
        *folder, clock_, [this](const certs::ServingCertificate& certificate) {
          serving_->set_metrics_certificate(certificate.chain, certificate.key);
        });
  }
}

}  // namespace muster::commands
