#include "reconcilers/workload/workload_priority.h"

#include "api/cluster_queue.h"
#include "api/workload.h"

namespace muster::reconcilers {
namespace {

bool names_a_class(const Workload& workload) {
  return workload.priority_class && workload.priority_class->kind == kWorkloadPriorityClasses.kind;
}

}  // namespace

Step reconcile_priority(const Workload& workload, const state::ClusterState& state, Plan& plan) {
  if (!names_a_class(workload) || workload.finished()) return Step::kContinue;
  const PriorityClass* found = state.find<PriorityClass>(kWorkloadPriorityClasses, "", workload.priority_class->name);
  if (found == nullptr || found->value == workload.priority) return Step::kContinue;
  plan.writes.push_back({.verb = Verb::kPatch,
                         .target = key_of(kWorkloads, workload.meta),
                         .body = with_version(workload.meta, {{"spec", {{"priority", found->value}}}})});
  return Step::kDone;
}

void enqueue_for_priority_class(const state::ClusterState& state, const PriorityClass& priority_class,
                                std::vector<ObjectKey>& keys) {
  if (priority_class.for_pods) return;
  state.for_each_of(kWorkloads, [&](const TypedObject& object) {
    const Workload& workload = *std::get<WorkloadPtr>(object);
    if (names_a_class(workload) && workload.priority_class->name == priority_class.meta.name)
      keys.push_back(key_of(object));
  });
}

}  // namespace muster::reconcilers
