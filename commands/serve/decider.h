// What decides in `muster serve`: the engine's loop, the election of a leader, and what both need and keep.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "commands/serve/api_server.h"
#include "commands/serve/running_decider.h"
#include "commands/serve/serve_flags.h"
#include "runtime/engine_loop.h"
#include "runtime/engine_reports.h"
#include "runtime/leadership.h"
#include "runtime/load_settings.h"
#include "runtime/readers/history_recorder.h"
#include "runtime/readers/start_recorder.h"
#include "runtime/surroundings.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/queue_metrics.h"

namespace muster::commands {

// From a thread of muster to the one that waits for signals.
inline constexpr int kGaveUp = SIGUSR1;

class Decider {
 public:
  using BundlesSeen = std::function<void(std::vector<std::string> bundles)>;

  // All must outlive it; `identity` is that of the replica in elections.
  Decider(const ServeFlags& flags, const runtime::Settings& settings, std::string own_namespace, std::string identity,
          const Clock& clock, ApiServer& api);
  ~Decider();
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;

  // Decides as soon as the API server has said what muster must know; `serving` shows until then why it waits.
  // `bundles_seen`: which CA bundles the webhook configurations hold, whenever that changed; on the engine's thread.
  // Both must outlive the threads, which stop() ends.
  void start(runtime::Serving& serving, BundlesSeen bundles_seen);
  // Each thread calls parts of others, which must exist until the thread has ended. So all threads end before any part
  // is destroyed. More than once is as once.
  void stop();

  // After the signal kGaveUp: why muster cannot run in this cluster. Empty: it can.
  std::string gave_up() const EXCLUDES(mutex_);
  // The certificates that the API server must trust, PEM.
  void issue_bundle(const std::string& bundle) EXCLUDES(mutex_);

  // For servers; any thread. null: muster has not begun to decide.
  std::shared_ptr<const RuleSettings> rules() const EXCLUDES(mutex_);
  ClusterViewPtr view() const;
  runtime::EngineLoop* loop() const EXCLUDES(mutex_);
  // Not before muster has begun to decide.
  ReconcilerSettings settings() const EXCLUDES(mutex_);
  std::shared_ptr<const StartEstimates> starts() const { return starts_ ? starts_->latest() : nullptr; }
  std::vector<ExplainedMoment> history_of(const ObjectKey& key) const { return history_.of(key); }
  std::string alarm() const { return leadership_.alarm(); }
  const server::QueueMetrics& queue_metrics() const { return queue_metrics_; }
  server::EngineMetrics& engine_metrics() { return engine_metrics_; }

 private:
  void learn(const std::stop_token& stop);
  void keep_away_from_kueue(const runtime::Surroundings& surroundings, const std::stop_token& stop);
  void begin(const runtime::Surroundings& surroundings) EXCLUDES(mutex_);
  std::optional<GaugeReadings> read_gauges();

  const ServeFlags& flags_;
  const runtime::Settings& settings_;
  const std::string namespace_;
  const Clock& clock_;
  ApiServer& api_;
  runtime::Serving* serving_ = nullptr;  // from start() on
  BundlesSeen bundles_seen_;

  // What is known only after the API server has answered; read by every thread.
  mutable Mutex mutex_;
  std::shared_ptr<const RuleSettings> rules_ GUARDED_BY(mutex_);
  runtime::EngineLoop* loop_ GUARDED_BY(mutex_) = nullptr;  // of running_
  bool native_jobsets_ GUARDED_BY(mutex_) = false;
  std::string bundle_ GUARDED_BY(mutex_);  // the last that was issued
  std::string gave_up_ GUARDED_BY(mutex_);

  // Later ones use earlier ones, so they go first.
  runtime::Leadership leadership_;
  server::QueueMetrics queue_metrics_;
  server::EngineMetrics engine_metrics_;
  runtime::EngineReports reports_{engine_metrics_};
  runtime::HistoryRecorder history_{clock_};
  std::unique_ptr<RunningDecider> running_;         // null: muster has not begun to decide
  std::shared_ptr<runtime::StartRecorder> starts_;  // null: --no-start-estimates
  std::jthread learner_;
};

}  // namespace muster::commands
