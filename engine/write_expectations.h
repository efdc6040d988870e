// Writes whose answer had only the version that they made: the object itself comes by the
// watch, which shows it in any case, so that it is sent and read once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/work_queue.h"
#include "kinds/typed_object.h"

namespace muster::engine {

// One thread.
class WriteExpectations {
 public:
  // A write of `request` that made this version of `target`.
  void add(const ObjectKey& target, uint64_t version, const ObjectKey& request);
  // The requests whose writes to this object are seen now that it is there in that version.
  std::vector<ObjectKey> take_seen(const TypedObject& object);
  // The requests of all writes to an object that has gone.
  std::vector<ObjectKey> take_gone(const TypedObject& object);
  // Whether the watch has yet to show a write to an object of this kind.
  bool any_of(const ResourceType& type) const;
  void clear() { writes_.clear(); }

 private:
  struct Unseen {
    uint64_t version;
    ObjectKey request;
  };
  std::vector<ObjectKey> take_until(const TypedObject& object, uint64_t version);

  std::unordered_multimap<ObjectKey, Unseen, ObjectKeyHash> writes_;  // by target
};

}  // namespace muster::engine
