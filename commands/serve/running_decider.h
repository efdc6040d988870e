// What exists from the moment at which muster begins to decide: the loop around the engine, and what watches it.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "commands/serve/decider.h"

namespace muster::commands {

class Decider::Running final : public runtime::LoopHost {
 public:
  // Nothing happens before the watches and the leadership post to the loop. `owner` must outlive it.
  Running(Decider& owner, const runtime::Surroundings& surroundings);

  runtime::EngineLoop& loop() { return *loop_; }
  // After the beginning of the watches: what ends the leadership of a stuck engine, and what keeps the admission
  // policy's binding.
  void start_guards();
  void end_guards();
  // After the end of the leadership. More than once is as once.
  void stop();

 private:
  engine::WriteFinished write(const engine::Command& command, MonotonicTime not_after, std::stop_token stop) override;
  std::optional<MonotonicTime> leads_until() const override { return owner_.leadership_.leads_until(); }
  void watched(const engine::Event& event) override;
  void report(engine::LoopActions& actions) override;
  void report(engine::Commands& commands);
  void broke(const engine::Breakage& breakage) override { owner_.reports_.breakage(breakage); }

  Decider& owner_;
  runtime::EngineWatch engine_watch_;
  std::unique_ptr<runtime::FileRecorder> recorder_;    // null: nothing is recorded
  std::unique_ptr<runtime::LatePodReader> late_pods_;  // null: no podReasons
  std::unique_ptr<runtime::EngineLoop> loop_;
  std::optional<runtime::EngineGuard> guard_;
  std::jthread policy_keeper_;
};

}  // namespace muster::commands
