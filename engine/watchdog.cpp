#include "engine/watchdog.h"

#include <algorithm>

namespace muster::engine {

void Watchdog::look(std::optional<uint64_t> step, MonotonicTime now) {
  if (step && step == step_)
    in_step_for_ += std::min(now - looked_, kMostBetweenLooks);
  else
    in_step_for_ = Duration::zero();
  step_ = step;
  looked_ = now;
}

}  // namespace muster::engine
