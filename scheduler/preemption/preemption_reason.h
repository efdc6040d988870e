// Why a Workload is evicted for another one, in Kueue's words.
#pragma once

#include <string_view>

namespace muster::scheduler {

enum class PreemptionReason {
  kInClusterQueue,
  kInCohortReclamation,
  kInCohortReclaimWhileBorrowing,
  kInCohortFairSharing
};
// "InClusterQueue", ...
std::string_view to_text(PreemptionReason reason);
// "prioritization in the ClusterQueue", ...
std::string_view explanation_of(PreemptionReason reason);

}  // namespace muster::scheduler
