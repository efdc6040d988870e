// Partial admission: the smallest number of pods to leave out so that a Workload fits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "api/meta/object_pointers.h"

namespace muster::scheduler {

bool can_be_reduced(const Workload& workload);

// Calls `fits` with counts between each pod set's minCount and count, by bisection over the number of pods left out
// (pod sets are reduced from the last one on), and returns the largest counts that fit. False if no counts fit. The
// last call is not always the result.
bool largest_counts(const Workload& workload, const std::function<bool(const std::vector<int32_t>&)>& fits);

}  // namespace muster::scheduler
