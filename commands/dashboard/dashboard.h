// `muster dashboard`: a page on the loopback address that shows jobs, queues and quota, with the rights of the person
// who runs the command.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "commands/kubectl/cluster_flags.h"

namespace CLI {
class App;
}

namespace muster::commands {

struct DashboardOptions {
  ClusterFlags cluster{};
  uint16_t port = 0;  // 0: a free one
  bool all_namespaces = false;
};

void add_dashboard(CLI::App& app, DashboardOptions& options);

// Prints the address and serves until SIGINT or SIGTERM. Returns the exit code: 0 ended by a signal, 1 not possible.
int dashboard(const DashboardOptions& options, std::ostream& out, std::ostream& err);

}  // namespace muster::commands
