// The objects that ask for what muster does not do (state/unsupported.h), as they are now:
// counted for a gauge, reported by an event on the object when the leader sees it first, and by one line
// of the log for each kind and feature. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/measurement.h"
#include "api/meta/object_event.h"
#include "state/unsupported.h"

namespace muster::engine {

// The first object of a kind that asks for something.
struct UnsupportedFound {
  ObjectKey object;
  state::Unsupported unsupported;
};

class UnsupportedObjects {
 public:
  // `found`: all of it, for this object as it is now. Returns what is new.
  std::vector<state::Unsupported> put(const ObjectKey& object, std::vector<state::Unsupported> found);
  void remove(const ObjectKey& object);

  // Calls visit(key, unsupported) for each.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [object, found] : objects_) {
      for (const state::Unsupported& one : found) visit(object, one);
    }
  }
  // What was found first since the last call.
  std::vector<UnsupportedFound> take_first() { return std::exchange(first_, {}); }
  std::vector<GaugeReading> gauges() const;

 private:
  using Feature = std::pair<std::string, std::string>;  // kind and what

  std::map<ObjectKey, std::vector<state::Unsupported>> objects_;
  std::map<Feature, int> counts_;
  std::set<Feature> told_;
  std::vector<UnsupportedFound> first_;
};

// The event on the object itself.
ObjectEvent event_about_unsupported(const TypedObject& object, const state::Unsupported& unsupported);

}  // namespace muster::engine
