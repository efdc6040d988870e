// Partial admission: with how many pods less would a Workload fit?
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "api/workload.h"

namespace muster {

bool can_be_reduced(const Workload& workload);

// Asks `fits` with counts between each pod set's minCount and count, by bisection over the
// number of pods left out (pod sets are reduced from the last one on), and leaves it at the
// largest counts that fit. False when none do. The last question need not be the answer.
bool largest_counts(const Workload& workload, const std::function<bool(const std::vector<int32_t>&)>& fits);

}  // namespace muster
