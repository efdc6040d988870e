// The metrics of queues and Workloads, for Prometheus, under Kueue's names: measurements are added
// up when they arrive, gauges are read at each scrape. docs/metrics.md has the table of all
// families.
//
// Counters and histograms of a queue end with the queue (Measured::kClusterQueueGone and
// its like), gauges with the state that they are read from.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "api/measurement.h"

namespace prometheus {
class Collectable;
}

namespace muster::server {

class QueueSeries;

class QueueMetrics {
 public:
  // Reads all gauges; nullopt: no values yet. Runs on the thread of the collector, so it can
  // wait.
  using Read = std::function<std::optional<GaugeReadings>()>;

  // `elects_leader`: replicas choose a leader among them, otherwise this one stands alone.
  // What `read` refers to must live until the last collection.
  QueueMetrics(bool elects_leader, Read read);
  ~QueueMetrics();

  // One thread; collections can run at the same time.
  void record(const Measurement& measurement);

  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  class Collector;
  std::shared_ptr<QueueSeries> series_;
  std::shared_ptr<Collector> collector_;
};

}  // namespace muster::server
