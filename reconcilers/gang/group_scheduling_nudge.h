// Nudges: an annotation on a waiting pod makes the kubelet refresh the pod's volumes at once; otherwise it does so
// every 60 to 90 s.
#pragma once

#include "reconcilers/command.h"
#include "state/gang_index.h"

namespace muster::reconcilers {

// The maximum of one plan, so that a large gang does not delay its next reconciliation for long.
inline constexpr int kNudgesPerPlan = 1000;

// Adds what is due now for the waiting pods of a decided run, and when to ask again.
// O(log n) when nothing is due.
void nudge(const state::GangRun& run, std::string_view verdict, TimePoint now, Plan& plan);

}  // namespace muster::reconcilers
