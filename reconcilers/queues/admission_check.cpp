#include "reconcilers/queues/admission_check.h"

#include "reconcilers/queues/named_by_queues.h"

namespace muster::reconcilers {
namespace {

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  return keep_while_named<AdmissionCheck>(key, state::kClusterQueuesByCheck, context);
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<AdmissionCheckPtr>(object)) keys.push_back(key_of(object));
  const auto* queue = std::get_if<ClusterQueuePtr>(&object);
  if (queue == nullptr) return;
  for (const AdmissionCheckRule& rule : (*queue)->admission_checks)
    enqueue_if_deleting<AdmissionCheck>(kAdmissionChecks, rule.name, state, keys);
}

constexpr const ResourceType* kKinds[] = {&kAdmissionChecks};

}  // namespace

const Reconciler admission_check_reconciler = {
    .name = "admission_check", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
