// The engine between two waits: a batch of events in, what follows from it out, as values. The threads
// around it are runtime/engine_loop.h; test/world/muster_process.h drives the same code in virtual time.
//
// One thread owns a LoopCore; nothing here locks, waits or reads a clock.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/loop/loop_observer.h"

namespace muster::engine {

// What is to be done after a batch. An empty optional: nothing has changed since the last one.
struct LoopActions {
  // Which CA bundles the webhook configurations hold. The answer is a CaBundleIssued.
  std::optional<std::vector<std::string>> bundles_seen{};
  // See WebhookConfigReconciler::take_missing().
  std::optional<std::vector<ObjectKey>> webhooks_missing{};
  // What rules can see from now on; null until every watched kind was listed.
  ClusterViewPtr view{};
  // Once: every watched kind was listed.
  bool synced_now = false;
  // Engine::missing_kinds(), and Engine::kinds_behind().
  std::optional<std::vector<std::string>> missing_kinds{};
  std::optional<std::vector<std::string>> kinds_behind{};
  // The writes are for OutboxCore, and each needs an answer (WriteFinished).
  Commands commands{};
  // Engine::quarantined().
  std::optional<size_t> quarantined{};

  // Gives the measurements of admission attempts their seconds: the engine has no clock.
  void note_planning_time(Duration took);
};

class LoopCore {
 public:
  // settings.watch, settings.observer and `table` must outlive it; tests pass their own reconcilers.
  explicit LoopCore(EngineSettings settings, std::span<const reconcilers::Reconciler* const> table = reconcilers());

  // Each event of a batch, in its order, and then plan().
  void apply(const Event& event, Now now);
  LoopActions plan(Now now);
  // When plan() is to be called although no event comes; nullopt: never.
  std::optional<MonotonicTime> next_tick() const { return engine_.next_tick(); }

  using Question = std::function<void(const Engine&)>;
  struct Answered {
    // False: the question was not asked, since not every watched kind was listed yet, or it broke.
    bool answered = false;
    // What a question reads is what is in the objects, so it can break over them.
    std::optional<Breakage> breakage{};
  };
  // Between two batches.
  Answered ask(const Question& question) const;

  const Engine& engine() const { return engine_; }

 private:
  StepWatch* const watch_;
  LoopObserver* const observer_;
  Engine engine_;
  std::vector<ObservedEvent> applied_;  // since the last plan; none without an observer
  // As reported last.
  bool told_synced_ = false;
  size_t told_quarantined_ = 0;
  std::vector<std::string> told_missing_, told_behind_;
};

}  // namespace muster::engine
