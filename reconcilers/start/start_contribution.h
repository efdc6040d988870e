// The extension point for what an admission gives to the pods of a job when they start: node selectors, tolerations,
// labels, annotations, scheduling gates. docs/recipes.md has the steps.
//
// One list holds for jobs of all kinds, for pods and their groups, and so for the pods of serving sets. What a
// contribution adds to a pod set goes into the templates of a job, or into each pod that loses its gate. Where the
// template itself has another value for a key, the job cannot start (kinds/pod_set_info.h, merge). Pure functions of
// values.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

struct PodSetAssignment;
struct PodSetInfo;
struct QueueSettings;
struct Workload;

}  // namespace muster

namespace muster::jobs {

class QueuedJob;

}  // namespace muster::jobs

namespace muster::state {

class ClusterState;

}  // namespace muster::state

namespace muster::reconcilers {

// What a contribution reads. References for one pass.
struct StartContext {
  const state::ClusterState& state;
  const QueueSettings& queues;
  const Workload& workload;  // has an admission
  const jobs::QueuedJob& job;
};

// Why the pods cannot start.
struct NoStart {
  std::string message;
  // It comes with time: a flavor is missing. Otherwise waiting does not help.
  bool retry = false;
};

struct StartContribution {
  std::string_view name;
  // Adds to `info` of a pod set of the admission, which has its name, its count, and what earlier contributions added.
  Outcome<NoStart> (*add)(const StartContext& context, const PodSetAssignment& assignment, PodSetInfo& info);
};

}  // namespace muster::reconcilers
