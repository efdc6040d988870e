// Which options of `muster simulate` go together. Pure.
#pragma once

#include "base/result.h"
#include "commands/simulate/simulate_options.h"

namespace muster::commands {

// Of a simulation, without a recording.
Outcome<> check_options(const SimulateOptions& options);
// Whether only options are set that have a meaning for a recording (--replay).
bool is_replay_alone(const SimulateOptions& options);

}  // namespace muster::commands
