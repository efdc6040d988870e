// Whoever keeps something of the cluster's objects beside ClusterState is an Observer of it: the scheduler's driver,
// the view of the rules, counters, the work queue. The engine calls all observers after each change, in the order of
// Engine::observers_, and does not know what any of them does with which kind.
#pragma once

#include "base/clock.h"
#include "engine/quarantine.h"
#include "kinds/typed_object.h"
#include "state/cluster_state.h"

namespace muster::engine {

// One thread, the engine's. In every call the state shows the change already.
class Observer {
 public:
  virtual ~Observer() = default;

  // What is broken when a call throws. After that the engine makes the state again, and calls reset(). An object that
  // has broken quota is kept from the observers of quota only.
  virtual Broke part() const { return Broke::kState; }

  // An object is new, or has another version: `change` has both. The pointers are good for the call.
  virtual void put(const state::ClusterState::Change& change, Now now) = 0;
  virtual void remove(const TypedObject& removed, Now now) = 0;

  // The state was made again after an exception, perhaps without some objects. What the observer keeps of objects is
  // forgotten, and restore() brings it back, once for each object of the new state. An observer that only passes news
  // on does nothing: for it nothing has happened.
  virtual void reset(Now) {}
  virtual void restore(const TypedObject&, Now) {}
};

}  // namespace muster::engine
