#include "runtime/readers/usage_recorder.h"

#include <nlohmann/json.hpp>

namespace muster::runtime {

UsageRecorder::~UsageRecorder() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  recorder_.join();
}

std::optional<Result<nlohmann::json>> UsageRecorder::of_cluster_queue(std::string_view name) const {
  const MutexLock lock(mutex_);
  if (!history_) return std::nullopt;
  return history_->of_cluster_queue(name);
}

void UsageRecorder::record() {
  for (;;) {
    // The engine is asked without the lock, so that readers do not wait for it.
    const std::optional<explain::QueueListing> listed = take_();
    const MutexLock lock(mutex_);
    if (listed && !history_) history_.emplace();
    if (listed) history_->add(*listed);
    const MonotonicTime next = clock_.now().monotonic + (listed ? times_.interval : times_.until_first);
    while (!ending_ && clock_.now().monotonic < next) changed_.wait_until(mutex_, next);
    if (ending_) return;
  }
}

}  // namespace muster::runtime
