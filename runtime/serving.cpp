#include "runtime/serving.h"

#include <algorithm>
#include <thread>

#include "api/meta/time.h"
#include "runtime/log.h"
#include "runtime/memory_limit.h"
#include "runtime/version.h"

namespace muster::runtime {
namespace {

// The API server uses a few connections, and a worker waits while it sends requests to the API server.
constexpr size_t kVisibilityWorkers = 4;
constexpr size_t kVisibilityConnections = 256;
constexpr Duration kIdleGrace = std::chrono::seconds(2);

bool is_off(const std::string& address) {
  return address.empty() || address == "0";
}

server::MetricsOptions metrics_options() {
  server::MetricsOptions options;
  options.version = kVersion;
  options.kinds = server::all_reviewed_kinds();
  options.rules = server::all_rule_names();
  return options;
}

}  // namespace

Result<std::unique_ptr<Serving>> Serving::make(Options options) {
  auto tls = server::TlsContext::create({options.tls.min_version, options.tls.cipher_suites});
  if (!tls) return fail(tls.error().message);
  std::shared_ptr<server::TlsContext> shared = std::move(*tls), metrics = shared;
  if (options.own_metrics_certificate) {
    auto own = server::TlsContext::create({options.tls.min_version, options.tls.cipher_suites});
    if (!own) return fail(own.error().message);
    metrics = std::move(*own);
  }
  return std::unique_ptr<Serving>(new Serving(std::move(options), std::move(shared), std::move(metrics)));
}

Serving::Serving(Options options, std::shared_ptr<server::TlsContext> tls,
                 std::shared_ptr<server::TlsContext> metrics_tls)
    : options_(std::move(options)),
      log_(*options_.clock),
      metrics_(metrics_options()),
      tls_(std::move(tls)),
      metrics_tls_(std::move(metrics_tls)),
      handler_(options_.rules, options_.view, metrics_, &log_, *options_.clock, budgets()),
      converter_(metrics_, &log_, *options_.clock, budgets()),
      webhook_(webhook_listener(), webhook_routes()) {
  if (!is_off(options_.addresses.health_probe)) {
    probes_ = std::make_unique<server::ProbeServer>(listener(options_.addresses.health_probe, nullptr, 1), readiness_,
                                                    options_.probe_paths);
  }
  if (!is_off(options_.addresses.metrics)) {
    metrics_server_ = std::make_unique<server::MetricsServer>(listener(options_.addresses.metrics, metrics_tls_, 4),
                                                              metrics_, options_.metrics_access, reader_routes());
  }
  if (options_.visibility && !is_off(options_.addresses.visibility))
    visibility_ =
        std::make_unique<server::HttpServer>(visibility_listener(), server::visibility_routes(*options_.visibility));
  metrics_.watch_connections("webhook", [this] { return webhook_.open_connections(); });
}

server::Routes Serving::webhook_routes() {
  server::Routes routes = handler_.routes();
  for (server::Route& route : converter_.routes()) routes.push_back(std::move(route));
  return routes;
}

server::Routes Serving::reader_routes() const {
  server::Routes routes = server::list_routes(options_.lister, options_.visibility_on_demand);
  routes.push_back(server::explain_route(options_.explainer));
  routes.insert(routes.end(), options_.further.begin(), options_.further.end());
  return routes;
}

server::HttpServerOptions Serving::webhook_listener() {
  server::HttpServerOptions options = listener(options_.addresses.webhook, tls_, options_.workers);
  options.clients = options_.webhook_clients;
  return options;
}

// It has its own workers, connections and memory, so that reviews do not wait for users of the page. It gets a
// quarter of the memory of reviews, but enough for one large answer.
server::HttpServerOptions Serving::visibility_listener() {
  server::HttpServerOptions options = listener(options_.addresses.visibility, tls_, kVisibilityWorkers);
  options.identified = true;
  options.limits.work_memory = std::max(server::kListMemory, budgets().reviews / 4);
  options.limits.max_connections = kVisibilityConnections;
  return options;
}

server::HttpServerOptions Serving::listener(const std::string& address, std::shared_ptr<server::TlsContext> tls,
                                            size_t workers) {
  server::HttpServerOptions options;
  options.bind_address = address;
  options.tls = std::move(tls);
  options.workers = workers;
  options.events = &log_;
  options.clock = options_.clock;
  options.limits.work_memory = budgets().reviews;
  options.limits.max_buffered_bytes = budgets().buffers;
  options.after_large = release_free_memory;
  return options;
}

void Serving::watch_ages(const std::shared_ptr<server::WatchAges>& ages) {
  metrics_.include(ages);
  readiness_.add_check("watches", [ages] { return ages->too_old(); });
}

Outcome<> Serving::start() {
  if (probes_) {
    if (auto started = probes_->start(); !started) return fail("health probes: " + started.error().message);
  }
  if (metrics_server_) {
    if (auto started = metrics_server_->start(); !started) return fail("metrics: " + started.error().message);
  }
  if (visibility_) {
    if (auto started = visibility_->start(); !started) return fail("visibility: " + started.error().message);
  }
  if (auto started = webhook_.start(); !started) return fail("webhook: " + started.error().message);
  readiness_.set_ready("listener");
  log_info("listening", {{"webhook", webhook_port()},
                         {"metrics", metrics_port()},
                         {"visibility", visibility_port()},
                         {"healthProbe", probe_port()}});
  return Done{};
}

void Serving::set_certificate(std::string_view chain_pem, std::string_view key_pem, TimePoint expires) {
  if (auto set = tls_->set_certificate(chain_pem, key_pem); !set) {
    log_error("new certificate rejected; the previous certificate stays in use", {{"why", set.error().message}});
    return;
  }
  metrics_.set_certificate_expiry(expires);
  readiness_.set_ready("certificate");
  log_info("serving with a new certificate", {{"expires", format_rfc3339(to_timestamp(expires))}});
}

void Serving::set_metrics_certificate(std::string_view chain_pem, std::string_view key_pem) {
  if (auto set = metrics_tls_->set_certificate(chain_pem, key_pem); !set)
    log_error("the metrics' certificate was rejected; the previous one stays in use", {{"why", set.error().message}});
}

void Serving::stop(Duration delay) {
  readiness_.shut_down();
  server::DrainTimes webhook_times{.patience = std::chrono::seconds(8)};
  if (delay > Duration::zero()) {
    log_info("shutting down: not ready, draining", {{"delay", format_duration(delay)}});
    // A request that meets our close on its way is lost, and its Job is refused: the API server does not repeat a POST.
    // It uses the latest connection first. So each connection is closed by the answer to its next request, and one
    // without a request for the delay and the grace is hardly about to get one.
    webhook_.close_after_answers();
    std::this_thread::sleep_for(delay);
    webhook_times.idle_grace = kIdleGrace;
  }
  webhook_.drain(webhook_times);
  constexpr server::DrainTimes kOthers{.patience = std::chrono::seconds(1)};
  if (visibility_) visibility_->drain(kOthers);
  if (metrics_server_) metrics_server_->drain(kOthers);
  if (probes_) probes_->drain(kOthers);
}

}  // namespace muster::runtime
