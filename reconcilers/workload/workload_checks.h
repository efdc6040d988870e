// Admission checks of a Workload: the required checks, and the effects of Retry and Rejected. The controller of a check
// writes its state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cluster_queue.h"
#include "reconcilers/step.h"
#include "reconcilers/workload/workload_editor.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

// By name. Before there is a reservation only those that count for every flavor of the
// queue, because the flavors are not known; then those of the flavors it has.
std::vector<std::string> checks_of(const std::optional<Admission>& admission, const ClusterQueue& queue);

// Gives the Workload a state for each of its checks, and no other. The editor's own admission counts: a new decision is
// only in the editor yet.
void sync_checks(WorkloadEditor& editor, const ClusterQueue& queue);

// A check with Retry can set a time: requeueAt becomes the latest of these times, if it is in the future and later than
// the current value.
void note_retry_time(WorkloadEditor& editor);

// "AdmissionCheck in Rejected state: \"a\" (why)"; empty when none is rejected.
std::string describe_rejected_checks(const WorkloadStatus& status);

// A rejected check deactivates the Workload, a check with Retry evicts it.
Step enforce_checks(WorkloadEditor& editor);
// Releases a reservation without admission if one of its pending checks belongs to Kueue's own controllers, which would
// never answer.
Step release_unanswered(WorkloadEditor& editor, const state::ClusterState& state);

}  // namespace muster::reconcilers
