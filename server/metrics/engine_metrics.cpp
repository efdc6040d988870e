#include "server/metrics/engine_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <string>

namespace muster::server {

struct EngineMetrics::Families {
  const std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();

  prometheus::Gauge& quarantined = prometheus::BuildGauge()
                                       .Name("muster_quarantined_keys")
                                       .Help("Keys over which muster failed, and which it leaves alone.")
                                       .Register(*registry)
                                       .Add({});
  prometheus::Family<prometheus::Counter>& breakages =
      prometheus::BuildCounter()
          .Name("muster_engine_breakages_total")
          .Help("How often muster failed over an object, by what broke.")
          .Register(*registry);
  prometheus::Counter& slow_steps = prometheus::BuildCounter()
                                        .Name("muster_engine_slow_steps_total")
                                        .Help("Steps of the engine that took 250 ms or longer.")
                                        .Register(*registry)
                                        .Add({});
  prometheus::Gauge& stuck = prometheus::BuildGauge()
                                 .Name("muster_engine_stuck")
                                 .Help("1 while the engine is in a step that does not end.")
                                 .Register(*registry)
                                 .Add({});
  prometheus::Gauge& webhooks_missing =
      prometheus::BuildGauge()
          .Name("muster_webhook_configurations_missing")
          .Help("Webhook configurations that muster keeps and that are not in the cluster.")
          .Register(*registry)
          .Add({});
  prometheus::Family<prometheus::Gauge>& recording =
      prometheus::BuildGauge()
          .Name("muster_recording")
          .Help("1 while muster serve --record writes its file, 0 after the recording has ended.")
          .Register(*registry);
};

EngineMetrics::EngineMetrics() : families_(std::make_unique<Families>()) {}
EngineMetrics::~EngineMetrics() = default;

void EngineMetrics::set_quarantined(size_t keys) {
  families_->quarantined.Set(static_cast<double>(keys));
}

void EngineMetrics::broke(std::string_view part) {
  families_->breakages.Add({{"part", std::string(part)}}).Increment();
}

void EngineMetrics::slow_step() {
  families_->slow_steps.Increment();
}

void EngineMetrics::set_stuck(bool stuck) {
  families_->stuck.Set(stuck ? 1 : 0);
}

void EngineMetrics::set_webhooks_missing(size_t configurations) {
  families_->webhooks_missing.Set(static_cast<double>(configurations));
}

void EngineMetrics::set_recording(bool records) {
  families_->recording.Add({}).Set(records ? 1 : 0);
}

std::shared_ptr<prometheus::Collectable> EngineMetrics::collectable() const {
  return families_->registry;
}

}  // namespace muster::server
