// What exists from the moment at which muster begins to decide: the loop around the engine, and what watches it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "commands/serve/api_server.h"
#include "commands/serve/serve_flags.h"
#include "runtime/engine_loop.h"
#include "runtime/engine_reports.h"
#include "runtime/engine_watch.h"
#include "runtime/leadership.h"
#include "runtime/load_settings.h"
#include "runtime/readers/history_recorder.h"
#include "runtime/readers/late_pod_reader.h"
#include "runtime/recording/file_recorder.h"
#include "runtime/surroundings.h"
#include "server/metrics/engine_metrics.h"
#include "server/metrics/queue_metrics.h"

namespace muster::commands {

// What exists before and longer. References.
struct DeciderParts {
  const ServeFlags& flags;
  const runtime::Settings& settings;
  const std::string& own_namespace;
  const Clock& clock;
  ApiServer& api;
  runtime::Leadership& leadership;
  server::QueueMetrics& queue_metrics;
  server::EngineMetrics& engine_metrics;
  runtime::EngineReports& reports;
  runtime::HistoryRecorder& history;
  std::function<runtime::EngineLoop*()> loop;  // null: muster has not begun to decide
  std::function<void(std::vector<std::string> bundles)> bundles_seen;
};

class RunningDecider final : public runtime::LoopHost {
 public:
  // Nothing happens before the watches and the leadership post to the loop.
  RunningDecider(DeciderParts parts, const runtime::Surroundings& surroundings);

  runtime::EngineLoop& loop() { return *loop_; }
  // After the beginning of the watches: what ends the leadership of a stuck engine, and what keeps the admission
  // policy's binding.
  void start_guards();
  void end_guards();
  // After the end of the leadership. More than once is as once.
  void stop();

 private:
  engine::WriteFinished write(const engine::Command& command, MonotonicTime not_after, std::stop_token stop) override;
  std::optional<MonotonicTime> leads_until() const override { return parts_.leadership.leads_until(); }
  void watched(const engine::Event& event) override;
  void report(engine::LoopActions& actions) override;
  void report(engine::Commands& commands);
  void broke(const engine::Breakage& breakage) override { parts_.reports.breakage(breakage); }

  const DeciderParts parts_;
  runtime::EngineWatch engine_watch_;
  std::unique_ptr<runtime::FileRecorder> recorder_;    // null: nothing is recorded
  std::unique_ptr<runtime::LatePodReader> late_pods_;  // null: no podReasons
  std::unique_ptr<runtime::EngineLoop> loop_;
  std::optional<runtime::EngineGuard> guard_;
  std::jthread policy_keeper_;
};

}  // namespace muster::commands
