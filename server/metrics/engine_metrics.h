// What muster counts of its engine, for Prometheus.
#pragma once

#include <memory>
#include <string_view>

namespace prometheus {
class Collectable;
}

namespace muster::server {

// Thread-safe. Metrics::include() shows it.
class EngineMetrics {
 public:
  EngineMetrics();
  ~EngineMetrics();

  // muster_quarantined_keys: keys over which muster failed, and which it leaves alone.
  void set_quarantined(size_t keys);
  // muster_engine_breakages_total{part}: how often that happened, by what broke.
  void broke(std::string_view part);
  // muster_engine_slow_steps_total: steps of the engine that took too long.
  void slow_step();
  // muster_engine_stuck: 1 while the engine is in a step that does not end.
  void set_stuck(bool stuck);

  // muster_webhook_configurations_missing: those that muster keeps and the cluster has not.
  void set_webhooks_missing(size_t configurations);

  // muster_recording: 1 while serve --record writes its file, 0 after it has ended; absent without --record.
  void set_recording(bool records);

  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace muster::server
