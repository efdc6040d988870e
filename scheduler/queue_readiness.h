// Whether a ClusterQueue can admit: do all objects that it names exist? In the words of its Active condition. Source:
// Kueue's ClusterQueue controller.
#pragma once

#include <functional>
#include <string>

#include "api/cluster_queue.h"

namespace muster::scheduler {

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
  bool in_cohort_cycle;  // its Cohorts are each other's ancestors, so the tree has no root
};

// The first problem gives the reason; the message names all problems.
QueueReadiness readiness_of(const ClusterQueue& queue, const QueueSurroundings& surroundings);

}  // namespace muster::scheduler
