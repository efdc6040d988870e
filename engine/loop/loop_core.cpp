#include "engine/loop/loop_core.h"

#include <chrono>
#include <exception>
#include <utility>

namespace muster::engine {
namespace {

template <class T>
std::optional<T> if_changed(T& told, T present) {
  if (told == present) return std::nullopt;
  told = std::move(present);
  return told;
}

}  // namespace

void LoopActions::note_planning_time(Duration took) {
  for (Measurement& measurement : commands.measurements) {
    if (measurement.what == Measured::kAdmissionAttempt)
      measurement.seconds = std::chrono::duration<double>(took).count();
  }
}

LoopCore::LoopCore(EngineSettings settings, std::span<const reconcilers::Reconciler* const> table)
    : watch_(settings.watch), observer_(settings.observer), engine_(std::move(settings), table) {
  if (observer_ != nullptr) observer_->began();
}

void LoopCore::apply(const Event& event, Now now) {
  if (observer_ != nullptr) applied_.push_back(observed(event, now));
  engine_.apply(event, now);
}

LoopActions LoopCore::plan(Now now) {
  LoopActions actions;
  // Only changes are reported: the owner of the certificates can read its store on each change.
  actions.bundles_seen = engine_.webhooks().take_seen_bundles();
  actions.webhooks_missing = engine_.webhooks().take_missing(now.monotonic);
  actions.commands = engine_.plan(now);
  // One view for each batch, for any number of events in the batch.
  actions.view = engine_.kinds().synced() ? engine_.view() : nullptr;
  if (engine_.kinds().synced()) actions.synced_now = !std::exchange(told_synced_, true);
  actions.missing_kinds = if_changed(told_missing_, engine_.kinds().missing());
  actions.kinds_behind = if_changed(told_behind_, engine_.kinds().behind());
  actions.quarantined = if_changed(told_quarantined_, engine_.quarantined());
  if (observer_ != nullptr) observer_->saw({std::exchange(applied_, {}), now, actions.commands.writes});
  return actions;
}

LoopCore::Answered LoopCore::ask(const Question& question) const {
  if (!engine_.kinds().synced()) return {};
  const WatchedStep step(watch_, "answering a question");
  try {
    question(engine_);
    return {.answered = true};
  } catch (const std::exception& thrown) {
    return {.answered = false, .breakage = describe(std::nullopt, Broke::kReconciling, "answering a question", thrown)};
  }
}

}  // namespace muster::engine
