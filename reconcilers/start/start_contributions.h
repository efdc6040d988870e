// The list of muster's contributions to a start. A JobContext holds a list as a value, so a test can add one.
#pragma once

#include <span>

namespace muster::reconcilers {

struct StartContribution;
using StartContributions = std::span<const StartContribution* const>;

// In their order: each reads what the ones before it added, and the first error counts.
StartContributions all_start_contributions();

}  // namespace muster::reconcilers
