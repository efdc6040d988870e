#include "reconcilers/queues/resource_flavor.h"

#include "reconcilers/queues/named_by_queues.h"

namespace muster::reconcilers {
namespace {

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  return keep_while_named<ResourceFlavor>(key, state::kClusterQueuesByFlavor, context);
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<ResourceFlavorPtr>(object)) keys.push_back(key_of(object));
  const auto* queue = std::get_if<ClusterQueuePtr>(&object);
  if (queue == nullptr) return;
  for (const ResourceGroup& group : (*queue)->resource_groups) {
    for (const FlavorQuotas& quotas : group.flavors)
      enqueue_if_deleting<ResourceFlavor>(kResourceFlavors, quotas.name, state, keys);
  }
}

constexpr const ResourceType* kKinds[] = {&kResourceFlavors};

}  // namespace

const Reconciler resource_flavor_reconciler = {
    .name = "resource_flavor", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
