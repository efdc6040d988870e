// What queues and Workloads have been through, added up for Prometheus: counters and
// histograms that begin with the first measurement and end with the queue they are about.
#pragma once

#include <prometheus/metric_family.h>

#include <memory>
#include <string>
#include <vector>

#include "api/measurement.h"

namespace muster::server {

class QueueSeries {
 public:
  // `role`: the label replica_role of all of them.
  explicit QueueSeries(std::string role);
  ~QueueSeries();
  QueueSeries(const QueueSeries&) = delete;
  QueueSeries& operator=(const QueueSeries&) = delete;

  // One thread; collections can run at the same time.
  void record(const Measurement& measurement);
  // Thread-safe.
  std::vector<prometheus::MetricFamily> collect() const;

 private:
  class Recorder;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace muster::server
