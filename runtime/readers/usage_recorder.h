// Takes the samples of a UsageHistory, and answers from it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "explain/lists/usage_history.h"

namespace muster::runtime {

// Thread-safe. A separate thread asks the engine once in each interval, and more often until the engine has something
// to show for the first time.
class UsageRecorder {
 public:
  struct Times {
    Duration interval = explain::kUsageInterval;
    Duration until_first = std::chrono::seconds(1);
  };
  // `take` reads the engine: nullopt when it has nothing to show. Both must outlive the recorder.
  UsageRecorder(std::function<std::optional<explain::QueueListing>()> take, const Clock& clock)
      : UsageRecorder(std::move(take), clock, Times()) {}
  UsageRecorder(std::function<std::optional<explain::QueueListing>()> take, const Clock& clock, Times times)
      : take_(std::move(take)), clock_(clock), times_(times), recorder_([this] { record(); }) {}
  ~UsageRecorder();
  UsageRecorder(const UsageRecorder&) = delete;
  UsageRecorder& operator=(const UsageRecorder&) = delete;

  // nullopt: the engine has had nothing to show yet.
  std::optional<Result<nlohmann::json>> of_cluster_queue(std::string_view name) const EXCLUDES(mutex_);

 private:
  void record() EXCLUDES(mutex_);

  const std::function<std::optional<explain::QueueListing>()> take_;
  const Clock& clock_;
  const Times times_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<explain::UsageHistory> history_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::thread recorder_;
};

}  // namespace muster::runtime
