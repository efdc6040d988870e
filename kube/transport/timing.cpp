#include "kube/transport/timing.h"

#include <condition_variable>
#include <mutex>

namespace muster::kube {
namespace {

class SystemSleeper final : public Sleeper {
 public:
  void sleep(Duration duration, std::stop_token stop) override {
    if (duration <= Duration::zero()) return;
    // Each call has its own wait: sleeping threads share no state, so none wakes another.
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    condition.wait_for(lock, stop, duration, [] { return false; });
  }
};

}  // namespace

Sleeper& system_sleeper() {
  static SystemSleeper sleeper;
  return sleeper;
}

}  // namespace muster::kube
