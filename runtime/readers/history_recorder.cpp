#include "runtime/readers/history_recorder.h"

#include <exception>
#include <variant>

#include "runtime/log.h"

namespace muster::runtime {

void HistoryRecorder::take_in(const engine::Event& event) {
  // Before the lock: most events are about other kinds.
  const auto* changed = std::get_if<engine::ObjectChanged>(&event);
  const auto* removed = std::get_if<engine::ObjectRemoved>(&event);
  const auto* listed = std::get_if<engine::KindListed>(&event);
  const bool is_workload = (changed != nullptr && std::holds_alternative<WorkloadPtr>(changed->object)) ||
                           (removed != nullptr && std::holds_alternative<WorkloadPtr>(removed->object)) ||
                           (listed != nullptr && *listed->type == kWorkloads);
  if (!is_workload) return;
  const Timestamp now = to_timestamp(clock_.now().wall);
  const MutexLock lock(mutex_);
  try {
    note(event, now);
  } catch (const std::exception& thrown) {
    log_error("the history of Workloads starts again from nothing; everything else continues",
              {{"why", thrown.what()}});
    history_.clear();
  }
}

void HistoryRecorder::note(const engine::Event& event, Timestamp now) {
  if (const auto* changed = std::get_if<engine::ObjectChanged>(&event)) {
    history_.put(*std::get<WorkloadPtr>(changed->object), now);
  } else if (const auto* removed = std::get_if<engine::ObjectRemoved>(&event)) {
    history_.remove(*std::get<WorkloadPtr>(removed->object), now);
  } else if (const auto* listed = std::get_if<engine::KindListed>(&event)) {
    history_.relist(listed->objects, now);
  }
}

std::vector<ExplainedMoment> HistoryRecorder::of(const ObjectKey& key) const {
  const MutexLock lock(mutex_);
  return history_.of(key);
}

size_t HistoryRecorder::bytes() const {
  const MutexLock lock(mutex_);
  return history_.bytes();
}

}  // namespace muster::runtime
