// Queues and Workloads of a cluster, read with a person's own rights (I/O). Nothing is written.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "commands/kubectl/cluster_flags.h"
#include "forecast/scenario_reader.h"

namespace muster::commands {

struct ClusterObjects {
  std::vector<forecast::SourceObject> objects;
  std::vector<std::string> notes;  // what could not be listed, and what was listed in one namespace only
  std::string ns;                  // that is meant: the flag's, or the context's
};

// An error when ClusterQueues, flavors, or Workloads and LocalQueues of the namespace cannot be listed, or no answer
// comes. With nodes: also what pods outside of the queues hold on them, as far as all of both can be listed.
Result<ClusterObjects> read_cluster(const ClusterFlags& flags, bool with_nodes);

}  // namespace muster::commands
