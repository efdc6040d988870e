// The command line of `muster simulate`.
#pragma once

#include "commands/simulate/simulate.h"

namespace CLI {
class App;
}

namespace muster::commands {

void add_simulate(CLI::App& app, SimulateOptions& options);

}  // namespace muster::commands
