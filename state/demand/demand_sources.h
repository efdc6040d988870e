// The list of muster's sources of requests. Whoever computes demand takes a list as a value, so a test can add a
// source.
#pragma once

#include <span>

namespace muster::state {

struct DemandSource;
using DemandSources = std::span<const DemandSource* const>;

// In their order; of several refusals the first one counts.
DemandSources all_demand_sources();

}  // namespace muster::state
