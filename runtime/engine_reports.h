// What the engine finds out about the cluster and about itself, said to people: as log lines, figures and
// readiness.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "server/metrics/engine_metrics.h"

namespace muster::runtime {

class Serving;

// Thread-safe. `metrics` must outlive it, and so must `serving` from its setting on.
class EngineReports {
 public:
  explicit EngineReports(server::EngineMetrics& metrics) : metrics_(metrics) {}
  // Before anything is reported.
  void set_serving(Serving& serving) { serving_ = &serving; }

  void synced();
  // Kinds that the API server does not serve; empty: it serves all again. `synced`: nothing else is missing.
  void missing_kinds(const std::vector<std::string>& kinds, bool synced);
  // Kinds whose watches have yet to show that they are current; empty: they all have, and a leader decides.
  void kinds_behind(const std::vector<std::string>& kinds);
  // Webhook configurations that muster keeps and the cluster has not; empty: they are all there again.
  void missing_webhooks(const std::vector<ObjectKey>& configurations);
  void unsupported(const engine::UnsupportedFound& found);
  void breakage(const engine::Breakage& breakage);
  void slow_step(const std::string& step, Duration took);
  void stuck(const std::string& step);
  void goes_on();
  // serve --record: whether it records, and why it does not any more.
  void recording(bool records) { metrics_.set_recording(records); }
  void recording_ended(const std::string& file, const std::string& why);

 private:
  server::EngineMetrics& metrics_;
  Serving* serving_ = nullptr;
};

}  // namespace muster::runtime
