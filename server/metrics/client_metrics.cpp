#include "server/metrics/client_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace muster::server {
namespace {

// component-base's.
const prometheus::Histogram::BucketBoundaries kLatencyBuckets = {0.005, 0.025, 0.1, 0.25, 0.5,  1,
                                                                 2,     4,     8,   15,   30.0, 60};

}  // namespace

struct ClientMetrics::Families {
  const std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();

  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter()
          .Name("rest_client_requests_total")
          .Help("Number of HTTP requests, partitioned by status code, method, and host.")
          .Register(*registry);
  prometheus::Family<prometheus::Histogram>& durations =
      prometheus::BuildHistogram()
          .Name("rest_client_request_duration_seconds")
          .Help("From sending a request to its answer, or of a watch to its beginning, by verb and host.")
          .Register(*registry);
  prometheus::Family<prometheus::Gauge>& leading = prometheus::BuildGauge()
                                                       .Name("leader_election_master_status")
                                                       .Help("1 while this replica holds the lease of that name.")
                                                       .Register(*registry);
  prometheus::Counter& warnings = prometheus::BuildCounter()
                                      .Name("muster_api_warnings_total")
                                      .Help("Warning headers in answers of the API server; the log has their texts.")
                                      .Register(*registry)
                                      .Add({});
  prometheus::Family<prometheus::Gauge>& contradicted =
      prometheus::BuildGauge()
          .Name("muster_contradicted_kinds")
          .Help(
              "1 while the CustomResourceDefinition of a described kind is not what the description says: such objects "
              "are not queued.")
          .Register(*registry);
  prometheus::Family<prometheus::Counter>& events =
      prometheus::BuildCounter()
          .Name("muster_events_total")
          .Help("Events about objects by what became of them: created, patched, counted, or why they were lost.")
          .Register(*registry);
};

ClientMetrics::ClientMetrics(const Clock& clock)
    : families_(std::make_unique<Families>()), watch_ages_(std::make_shared<WatchAges>(clock)) {}
ClientMetrics::~ClientMetrics() = default;

// Labels need no limits here: the methods are muster's, there is one host, and the status codes come from the
// API server, not from untrusted clients.
void ClientMetrics::request_done(std::string_view method, std::string_view host, std::string_view code,
                                 Duration latency) {
  const std::string verb(method), where(host);
  families_->requests.Add({{"method", verb}, {"host", where}, {"code", std::string(code)}}).Increment();
  families_->durations.Add({{"verb", verb}, {"host", where}}, kLatencyBuckets)
      .Observe(std::chrono::duration<double>(latency).count());
}

void ClientMetrics::set_leading(const std::string& name, bool leads) {
  families_->leading.Add({{"name", name}}).Set(leads ? 1 : 0);
}

void ClientMetrics::set_contradicted(const std::string& resource, bool contradicted) {
  families_->contradicted.Add({{"resource", resource}}).Set(contradicted ? 1 : 0);
}

void ClientMetrics::warned() {
  families_->warnings.Increment();
}

void ClientMetrics::event_done(std::string_view outcome) {
  families_->events.Add({{"outcome", std::string(outcome)}}).Increment();
}

std::shared_ptr<prometheus::Collectable> ClientMetrics::collectable() const {
  return families_->registry;
}

}  // namespace muster::server
