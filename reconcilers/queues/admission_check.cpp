#include "reconcilers/queues/admission_check.h"

#include "api/cluster_queue.h"
#include "reconcilers/in_use.h"
#include "state/indexes.h"

namespace muster::reconcilers {
namespace {

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const AdmissionCheck* check = context.state.find<AdmissionCheck>(key.name);
  if (check == nullptr) return plan;
  keep_in_use_finalizer(kAdmissionChecks, check->meta,
                        !context.state.by(state::kClusterQueuesByCheck, {"", key.name}).empty(), plan);
  return plan;
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<AdmissionCheckPtr>(object)) keys.push_back(key_of(object));
  const auto* queue = std::get_if<ClusterQueuePtr>(&object);
  if (queue == nullptr) return;
  for (const AdmissionCheckRule& rule : (*queue)->admission_checks) {
    // Queues are written often; only a check that wants to go waits for them.
    const AdmissionCheck* check = state.find<AdmissionCheck>(rule.name);
    if (check != nullptr && check->meta.deleting) keys.push_back({&kAdmissionChecks, "", rule.name});
  }
}

constexpr const ResourceType* kKinds[] = {&kAdmissionChecks};

}  // namespace

const Reconciler admission_check_reconciler = {
    .name = "admission_check", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
