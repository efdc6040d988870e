// `muster simulate`: what would become of jobs under a configuration of queues, in virtual time.
#pragma once

#include "commands/review/review.h"
#include "commands/simulate/simulate_options.h"

namespace muster::commands {

// Exit codes, part of the interface that scripts rely on.
inline constexpr int kSimulateHolds = 0;     // done, and every expectation holds
inline constexpr int kSimulateFails = 1;     // at least one does not
inline constexpr int kSimulateUnusable = 2;  // input or options cannot be used; nothing is printed on `out`

int simulate(const SimulateOptions& options, ReviewStreams streams);

}  // namespace muster::commands
