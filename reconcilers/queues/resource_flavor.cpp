#include "reconcilers/queues/resource_flavor.h"

#include "api/cluster_queue.h"
#include "reconcilers/in_use.h"
#include "state/indexes.h"

namespace muster::reconcilers {
namespace {

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const ResourceFlavor* flavor = context.state.find<ResourceFlavor>(key.name);
  if (flavor == nullptr) return plan;
  keep_in_use_finalizer(kResourceFlavors, flavor->meta,
                        !context.state.by(state::kClusterQueuesByFlavor, {"", key.name}).empty(), plan);
  return plan;
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<ResourceFlavorPtr>(object)) keys.push_back(key_of(object));
  const auto* queue = std::get_if<ClusterQueuePtr>(&object);
  if (queue == nullptr) return;
  for (const ResourceGroup& group : (*queue)->resource_groups) {
    for (const FlavorQuotas& quotas : group.flavors) {
      // Queues are written often; only a flavor that wants to go waits for them.
      const ResourceFlavor* flavor = state.find<ResourceFlavor>(quotas.name);
      if (flavor != nullptr && flavor->meta.deleting) keys.push_back({&kResourceFlavors, "", quotas.name});
    }
  }
}

constexpr const ResourceType* kKinds[] = {&kResourceFlavors};

}  // namespace

const Reconciler resource_flavor_reconciler = {
    .name = "resource_flavor", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
