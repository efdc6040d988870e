// The shape of every reconciler: (key, context) -> plan, a pure function.
//
// The engine calls reconcile() for a key after each change that concerns it, never
// while writes for that key are in progress, and always with those writes' results in
// the state: a reconciler reads its own writes. So it needs no memory. All state is
// in the objects, and after a crash between any two writes the next process
// continues.
#pragma once

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "api/config/reconciler_settings.h"
#include "base/clock.h"
#include "kinds/typed_object.h"
#include "reconcilers/command.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"

namespace muster::reconcilers {

// The name of an object that muster needs can belong to an object of another owner, which can be deleted later: the
// time until the next attempt.
constexpr Duration kNameConflictInterval = std::chrono::seconds(30);

// muster's own admission check controllers (reconcilers/checks/check_controller.h).
struct CheckController;
using CheckControllers = std::span<const CheckController* const>;

// What a reconciler decides from. References to what the engine owns, for one pass.
struct ReconcileContext {
  const state::ClusterState& state;
  // What the scheduler has decided about Workloads, also what is not written yet.
  const state::SchedulerDriver& decisions;
  const ReconcilerSettings& settings;
  Now now;
  CheckControllers check_controllers{};
  // Of kinds that clusters do without; nullptr: all are served.
  const std::set<KindId>* absent_kinds = nullptr;

  // Whether the API server has served the kind since this process began.
  bool serves(const ResourceType& type) const { return absent_kinds == nullptr || !absent_kinds->contains(type.id()); }
  const QueueSettings& queues() const { return settings.queues; }
};

struct Reconciler {
  std::string_view name;
  // The kinds of keys that it is asked about. Empty: all, for what follows from the description of a kind.
  std::span<const ResourceType* const> kinds{};
  // The keys that a change of this object concerns, added to `keys`. For a changed
  // object it is called with the old and with the new version.
  void (*requests_for)(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys);
  // What is to be done for a key. The object it names does not always exist (any more).
  Plan (*reconcile)(const ObjectKey& key, const ReconcileContext& context);

  bool handles(const ResourceType& type) const {
    return kinds.empty() ||
           std::any_of(kinds.begin(), kinds.end(), [&](const ResourceType* kind) { return *kind == type; });
  }
};

}  // namespace muster::reconcilers
