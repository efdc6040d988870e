// Keeps the history of Workloads (explain/history): what the watches tell goes in, what people ask comes out.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/events.h"
#include "explain/history/workload_history.h"

namespace muster::runtime {

// Thread-safe. Taking in an event costs the engine's thread about a microsecond; nothing that it decides rests on it.
class HistoryRecorder {
 public:
  // `clock` must outlive it.
  explicit HistoryRecorder(const Clock& clock) : HistoryRecorder(clock, explain::WorkloadHistory::Limits()) {}
  HistoryRecorder(const Clock& clock, explain::WorkloadHistory::Limits limits) : clock_(clock), history_(limits) {}

  // Events about other kinds than Workloads mean nothing here. Never throws: a history that cannot be kept is begun
  // from nothing.
  void take_in(const engine::Event& event) EXCLUDES(mutex_);
  // Earliest first; empty: nothing is known.
  std::vector<ExplainedMoment> of(const ObjectKey& key) const EXCLUDES(mutex_);
  size_t bytes() const EXCLUDES(mutex_);

 private:
  void note(const engine::Event& event, Timestamp now) REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  explain::WorkloadHistory history_ GUARDED_BY(mutex_);
};

}  // namespace muster::runtime
