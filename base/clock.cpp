#include "base/clock.h"

namespace muster {
namespace {

class SystemClock final : public Clock {
 public:
  Now now() const override {
    return {std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
            std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now())};
  }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace muster
