// The connection of the commands that move a cluster.
#pragma once

#include <functional>
#include <string_view>

#include "commands/kubectl/cluster_flags.h"
#include "commands/review/review.h"
#include "kube/api.h"

namespace muster::commands {

// What `run` returns, with the API server that the flags name; 1 where there is none, and why on standard error.
int with_cluster(std::string_view command, const ClusterFlags& flags, ReviewStreams streams,
                 const std::function<int(kube::KubeApi& api)>& run);

}  // namespace muster::commands
