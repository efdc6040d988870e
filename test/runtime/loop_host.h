// The host of an EngineLoop in a test: each function can be set.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "runtime/engine_loop.h"

namespace muster::test {

struct TestHost final : runtime::LoopHost {
  std::function<engine::WriteFinished(const engine::Command&, MonotonicTime, std::stop_token)> on_write =
      [](const engine::Command& command, MonotonicTime, const std::stop_token&) -> engine::WriteFinished {
    return {command.id, reconcilers::WriteOutcome::kDone};
  };
  std::function<std::optional<MonotonicTime>()> until = [] { return std::nullopt; };
  std::function<void(const engine::LoopActions&)> on_report = [](const engine::LoopActions&) {};
  std::function<void(const engine::Breakage&)> on_broke = [](const engine::Breakage&) {};

  engine::WriteFinished write(const engine::Command& command, MonotonicTime not_after, std::stop_token stop) override {
    return on_write(command, not_after, std::move(stop));
  }
  std::optional<MonotonicTime> leads_until() const override { return until(); }
  void report(engine::LoopActions& actions) override { on_report(actions); }
  void broke(const engine::Breakage& breakage) override { on_broke(breakage); }
};

}  // namespace muster::test
