#include "state/pod_priority.h"

#include "api/cluster_queue.h"
#include "state/cluster_state.h"

namespace muster::state {

const PriorityClass* default_pod_priority(const ClusterState& state) {
  const PriorityClass* chosen = nullptr;
  state.for_each_of(kPriorityClasses, [&](const TypedObject& object) {
    const PriorityClass& candidate = *std::get<PriorityClassPtr>(object);
    if (candidate.global_default && (chosen == nullptr || candidate.value < chosen->value)) chosen = &candidate;
  });
  return chosen;
}

}  // namespace muster::state
