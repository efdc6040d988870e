// Starting and stopping pods: each is one object, so a group starts and stops pod by pod; the remaining steps
// follow from the pods, so any replica can continue after a crash. Source: Kueue, pkg/controller/jobs/pod (Run and
// Stop).
#pragma once

#include <string>
#include <string_view>

#include "reconcilers/pod/pod_context.h"

namespace muster::reconcilers {

enum class WhichPods {
  kRunning,  // neither gated nor ended
  kAll,      // of a Workload that is deleted
};
// Marks pods with the condition TerminationTarget and deletes them; kContinue: none is left to delete.
Step stop_pods(const PodContext& context, WhichPods which, const std::string& reason, const std::string& message,
               Plan& plan);

// Takes the gates off, all in one plan. What can never start ends the Workload, unless some of its pods run.
void start_pods(const PodContext& context, const Workload& workload, Plan& plan);

// A pod that is neither gated nor over, and is not being deleted.
bool runs(const QueuedPod& pod);

}  // namespace muster::reconcilers
