// What AdmissionChecks and ResourceFlavors have in common: they stay as long as a ClusterQueue names them.
#pragma once

#include <string>
#include <vector>

#include "api/cluster_queue.h"
#include "reconcilers/in_use.h"
#include "reconcilers/reconciler.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {

// `queues`: of the ClusterQueues by the names that they contain.
template <class Object>
Plan keep_while_named(const ObjectKey& key, const state::Index<ClusterQueue>& queues, const ReconcileContext& context) {
  Plan plan;
  const Object* object = context.state.find<Object>(key.name);
  if (object == nullptr) return plan;
  keep_in_use_finalizer(*key.type, object->meta, !context.state.by(queues, {"", key.name}).empty(), plan);
  return plan;
}

// Of an object that a changed ClusterQueue names. ClusterQueues are written often, and only an object that is being
// deleted waits for them.
template <class Object>
void enqueue_if_deleting(const ResourceType& type, const std::string& name, const state::ClusterState& state,
                         std::vector<ObjectKey>& keys) {
  const Object* object = state.find<Object>(name);
  if (object != nullptr && object->meta.deleting) keys.push_back({&type, "", name});
}

}  // namespace muster::reconcilers
