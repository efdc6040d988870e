#include "server/metrics/engine_metrics.h"

#include <doctest/doctest.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>

namespace engine_metrics_test {

using namespace muster;
using namespace muster::server;

namespace {

double gauge(const EngineMetrics& metrics, const std::string& name) {
  for (const auto& family : metrics.collectable()->Collect()) {
    if (family.name == name && family.metric.size() == 1) return family.metric[0].gauge.value;
  }
  return -1;
}

}  // namespace

TEST_CASE("engine metrics: webhook configurations that are missing are shown from the start, as none") {
  EngineMetrics metrics;
  CHECK(gauge(metrics, "muster_webhook_configurations_missing") == 0);
  metrics.set_webhooks_missing(2);
  CHECK(gauge(metrics, "muster_webhook_configurations_missing") == 2);
  metrics.set_webhooks_missing(0);
  CHECK(gauge(metrics, "muster_webhook_configurations_missing") == 0);
}

}  // namespace engine_metrics_test
