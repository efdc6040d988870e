#include "scheduler/partial_admission.h"

#include <algorithm>

#include "api/workload.h"

namespace muster::scheduler {
namespace {

// Pods that can be left out: podSets[*].minCount (KEP-420).
int64_t spare(const PodSet& pod_set) {
  return int64_t{pod_set.count} - pod_set.min_count.value_or(pod_set.count);
}

}  // namespace

bool can_be_reduced(const Workload& workload) {
  return std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(),
                     [](const PodSet& pod_set) { return spare(pod_set) > 0; });
}

// Pods are left out of the last pod set first. A smaller size is taken to fit where a larger one does, so halving finds
// the largest in few attempts (KEP-420).
bool largest_counts(const Workload& workload, const std::function<bool(const std::vector<int32_t>&)>& fits) {
  int64_t most = 0;
  for (const PodSet& pod_set : workload.pod_sets) most += spare(pod_set);
  std::vector<int32_t> counts(workload.pod_sets.size());
  int64_t low = 0, high = most + 1, best = -1;
  while (low < high) {
    const int64_t left_out = low + (high - low) / 2;
    int64_t remaining = left_out;
    for (size_t i = counts.size(); i-- > 0;) {
      const int64_t cut = std::min(spare(workload.pod_sets[i]), remaining);
      counts[i] = static_cast<int32_t>(workload.pod_sets[i].count - cut);
      remaining -= cut;
    }
    if (fits(counts)) {
      best = high = left_out;
    } else {
      low = left_out + 1;
    }
  }
  // The last attempt that fitted is the answer, and the caller has its placement.
  return best >= 0 && best == low;
}

}  // namespace muster::scheduler
