// How kube/ knows time and chance: both are handed in, so that tests run hours of
// retries in virtual time.
#pragma once

#include <functional>
#include <stop_token>

#include "base/clock.h"

namespace muster::kube {

// Waits on behalf of a thread. Thread-safe.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Returns once `duration` has passed by the clock, or as soon as `stop` is
  // requested. A duration of zero or less returns at once.
  virtual void sleep(Duration duration, std::stop_token stop) = 0;
};

// Sleeps for real.
Sleeper& system_sleeper();

// The clock and the sleeper must outlive everything they are given to. `random`
// yields numbers in [0, 1) and is called from several threads at once.
struct Timing {
  const Clock& clock;
  Sleeper& sleeper;
  std::function<double()> random;
};

}  // namespace muster::kube
