// Whether a ClusterQueue can admit, by what it names and what of that there is, in the words
// of its Active condition. Source: Kueue's ClusterQueue controller.
#pragma once

#include <functional>
#include <string>

#include "api/cluster_queue.h"

namespace muster {

struct QueueReadiness {
  bool ready;
  std::string reason;
  std::string message;
};

enum class CheckPresence { kMissing, kInactive, kActive };

// What the cluster has.
struct QueueSurroundings {
  std::function<bool(const std::string& flavor)> has_flavor;
  std::function<CheckPresence(const std::string& admission_check)> check;
  bool in_cohort_cycle;  // above it there is no root, but Cohorts that are each other's ancestors
};

// The first thing that is wrong gives the reason; the message names them all.
QueueReadiness readiness_of(const ClusterQueue& queue, const QueueSurroundings& surroundings);

}  // namespace muster
