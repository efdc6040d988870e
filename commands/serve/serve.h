// `muster serve`: the webhooks, and everything that keeps them served.
#pragma once

#include "commands/serve/serve_flags.h"

namespace muster::commands {

// Serves until SIGTERM or SIGINT, then drains. Returns the process's exit code: 0
// after an orderly stop, 1 when it could not start, with the reason on stderr.
int serve(const ServeFlags& flags);

}  // namespace muster::commands
