#include "base/boot_clock.h"

#include <ctime>

namespace muster {
namespace {

class BootClock final : public Clock {
 public:
  Now now() const override {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return {system_clock().now().wall,
            MonotonicTime(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec))};
  }
};

}  // namespace

const Clock& boot_clock() {
  static const BootClock clock;
  return clock;
}

}  // namespace muster
