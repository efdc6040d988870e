// What answers of the API server said that no object shows: refused creates, names of other owners' objects, pauses and
// searches for pods. Known to the leader, from its own writes. Part of ClusterState; one thread.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/expiring_set.h"
#include "kinds/typed_object.h"
#include "state/pod_searches.h"
#include "state/write_pauses.h"

namespace muster::state {

class WriteMemory {
 public:
  // The last create for an object's sake that the API server refused and that had no success since.
  struct Rejection {
    ObjectKey target;
    std::string why;  // the API server's sentence
  };
  // nullptr: none.
  const Rejection* rejection(const ObjectKey& owner) const;
  // The last of an object of this kind.
  const Rejection* rejection(const ObjectKey& owner, const ResourceType& type) const;
  void note_rejection(const ObjectKey& owner, const ObjectKey& target, std::string why);
  // `target` was made, or is not needed any more.
  void forget_rejection(const ObjectKey& owner, const ObjectKey& target);

  // Whether a create was answered with AlreadyExists, lately, by an object that muster does not watch: another owner's.
  bool has_name_conflict(const ObjectKey& key, MonotonicTime now) const { return name_conflicts_.holds(key, now); }
  void note_name_conflict(const ObjectKey& key, MonotonicTime until) { name_conflicts_.put(key, until); }

  // Pauses of writes that came to nothing.
  const WritePauses& pauses() const { return pauses_; }
  WritePauses& pauses() { return pauses_; }
  // What searches for pods have found.
  const PodSearches& pod_searches() const { return pod_searches_; }
  PodSearches& pod_searches() { return pod_searches_; }

  // The object was put, or removed.
  void object_put(const TypedObject& object);
  void object_removed(const ObjectKey& key);

 private:
  ExpiringSet<ObjectKey> name_conflicts_{std::chrono::minutes(1)};
  std::map<ObjectKey, std::vector<Rejection>> rejections_;  // by owner; one of each kind, the last one at the end
  WritePauses pauses_;
  PodSearches pod_searches_;
};

}  // namespace muster::state
