// The command line of `muster review`.
#pragma once

#include "commands/review/review.h"

namespace CLI {
class App;
}

namespace muster::commands {

void add_review(CLI::App& app, ReviewOptions& options);

}  // namespace muster::commands
