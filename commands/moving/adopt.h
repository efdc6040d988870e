// `muster adopt`: carries out the steps of rules/adoption.h one after the other, and reads the cluster again before
// each.
#pragma once

#include "base/clock.h"
#include "commands/moving/moving_commands.h"
#include "commands/moving/rules/adoption.h"
#include "kube/api.h"
#include "kube/transport/timing.h"

namespace muster::commands {

// Everything that the steps are derived from. The error names what could not be read.
Result<ClusterDump> read_adoption_state(kube::KubeApi& api, const std::string& muster_namespace);

// In a cluster that is at hand. 0: done; 1: refused, or not done to its end, with a sentence on `err`.
int adopt_in(kube::KubeApi& api, const AdoptFlags& flags, const kube::Timing& timing, ReviewStreams streams);

}  // namespace muster::commands
