// The shape of every reconciler: (key, state, now) -> plan, a pure function.
//
// The engine calls reconcile() for a key after each change that concerns it, never
// while writes for that key are under way, and always with those writes' results in
// the state: a reconciler reads its own writes. So it needs no memory. Whatever it
// must remember is in the objects, and a process that is killed between any two
// writes is continued by the next one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/queue_settings.h"
#include "api/typed_object.h"
#include "base/clock.h"
#include "reconcilers/cluster_state.h"
#include "reconcilers/command.h"

namespace muster {

struct ReconcilerSettings {
  // muster is the JobSet controller; otherwise it stands beside upstream's.
  bool native_jobsets = false;
  // JobSet's feature gate ElasticJobSet: parallelism and completions of a JobSet's
  // template may change, and reach the Jobs that are there.
  bool elastic_jobsets = false;
  // Not native: keep spec.groupSchedulingConfig in the foreign controller's CRD.
  bool patch_jobset_crd = false;
  // Where muster runs; like kube-system no webhook of muster's is asked about objects there.
  std::string own_namespace{};
  // Jobs and JobSets may start as a group. Off, no pods and ConfigMaps are known.
  bool group_scheduling = true;
  QueueSettings queues{};
};

struct Reconciler {
  std::string_view name;
  // The keys that a change of this object concerns, added to `keys`. For a changed
  // object it is called with the old and with the new version.
  void (*concerns)(const ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys);
  // What is to be done for a key. The object it names may not exist (any more).
  Plan (*reconcile)(const ObjectKey& key, const ClusterState& state, const ReconcilerSettings& settings, Now now);
};

// In the order in which they are asked for one key; the first that wants to write goes
// first, and the others are asked again after it.
std::span<const Reconciler* const> reconcilers();

}  // namespace muster
