// The reason of late pods in the message of the eviction that they cause. It is added where the write is sent, and not
// where it is decided: the engine knows no pods of other jobs than gangs, decides nothing by the reason, and waits for
// no answer. Pure.
#pragma once

#include <string_view>

#include "reconcilers/command.h"

namespace muster::reconcilers {

// Whether this write evicts a Workload whose pods were not ready in time, or deactivates it after the last try: by
// waitForPodsReady, or by the timeout of a flavor (flavor_fallback.h).
bool evicts_late_pods(const Write& write);
// Into the parentheses of the message, which tools do not read; behind the list of flavors, where all have failed. Has
// an effect once.
void add_pod_reason(std::string_view note, Write& write);

}  // namespace muster::reconcilers
