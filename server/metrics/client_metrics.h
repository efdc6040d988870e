// What muster counts and measures of its requests to the API server, for
// Prometheus: the families that every Kubernetes component has, under their names
// (component-base metrics/prometheus/{restclient,clientgo/leaderelection}), and events.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "server/metrics/watch_ages.h"

namespace prometheus {
class Collectable;
}

namespace muster::server {

// Thread-safe. Apart from Metrics because the first requests are sent before there is
// anything to serve; Metrics::include() shows both together.
class ClientMetrics {
 public:
  explicit ClientMetrics(const Clock& clock = system_clock());
  ~ClientMetrics();

  // One attempt: rest_client_requests_total{method,host,code}, and
  // rest_client_request_duration_seconds{verb,host}.
  void request_done(std::string_view method, std::string_view host, std::string_view code, Duration latency);
  // leader_election_master_status{name}, `name` of the Lease: 1 while this replica
  // leads. Call it with false when the election starts.
  void set_leading(const std::string& name, bool leads);
  // muster_api_warnings_total: one Warning header of the API server.
  void warned();
  // muster_contradicted_kinds{resource}: 1 while its definition is not what its description says.
  void set_contradicted(const std::string& resource, bool contradicted);
  // muster_events_total{outcome}: Events about objects, whether written or lost.
  void event_done(std::string_view outcome);

  // muster_watch_age_seconds{resource}, which is not among collectable().
  const std::shared_ptr<WatchAges>& watch_ages() const { return watch_ages_; }

  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
  std::shared_ptr<WatchAges> watch_ages_;
};

}  // namespace muster::server
