#pragma once

#include "api/meta/object_pointers.h"

namespace muster::state {

class ClusterState;

// The PriorityClass of pods that name no class; of several defaults the one with the lowest value. nullptr: none.
const PriorityClass* default_pod_priority(const ClusterState& state);

}  // namespace muster::state
