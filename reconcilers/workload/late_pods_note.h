// The reason of late pods in the message of the eviction that they cause. It is added where the write is sent, and not
// where it is decided: the engine knows no pods of other jobs than gangs, decides nothing by the reason, and waits for
// no answer. Pure.
#pragma once

#include <string_view>

#include "reconcilers/command.h"

namespace muster::reconcilers {

// Of a write that Write::for_late_pods marks: into the parentheses of the message, which tools do not read; behind the
// list of flavors, where all have failed. Has an effect once.
void add_pod_reason(std::string_view note, Write& write);

}  // namespace muster::reconcilers
