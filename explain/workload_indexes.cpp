#include "explain/workload_indexes.h"

#include "api/texts/workload_texts.h"
#include "api/workload.h"

namespace muster::explain {
namespace {

using state::NamespacedName;

std::optional<NamespacedName> uid_of(const Workload& workload) {
  return NamespacedName{"", workload.meta.uid};
}

std::optional<NamespacedName> preemptor_of(const Workload& workload) {
  if (!workload.evicted() || !workload.has_quota_reserved()) return std::nullopt;
  const Condition* preempted = find_condition(workload.status.conditions, kPreemptedCondition);
  if (preempted == nullptr || !preempted->is_true()) return std::nullopt;
  return NamespacedName{"", preemptor_uid_of(preempted->message)};
}

}  // namespace

const state::Index<Workload> kWorkloadsByUid{.key = uid_of};
const state::Index<Workload> kVictimsByPreemptor{.key = preemptor_of};

}  // namespace muster::explain
