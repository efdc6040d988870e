// The objects of one kind by namespace and name. What lies here stays where it is until it
// is removed, also when a newer version takes its place.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "kinds/typed_object.h"
#include "state/namespaced_name.h"

namespace muster::state {

// One thread.
class ObjectStore {
 public:
  // nullptr: there is none. Good until that object is removed.
  TypedObject* find(NamespacedName name) {
    const auto found = slots_.find(name);
    return found == slots_.end() ? nullptr : &found->object;
  }
  const TypedObject* find(NamespacedName name) const {
    const auto found = slots_.find(name);
    return found == slots_.end() ? nullptr : &found->object;
  }
  // Of an object that is not here.
  TypedObject& add(const TypedObject& object) { return slots_.insert(Slot{object}).first->object; }
  void remove(NamespacedName name) {
    if (const auto found = slots_.find(name); found != slots_.end()) slots_.erase(found);
  }
  // In any order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_) visit(slot.object);
  }
  // Those that are wanted, by namespace and name.
  template <class Wanted>
  std::vector<const TypedObject*> sorted(const Wanted& wanted) const {
    std::vector<const TypedObject*> objects;
    for (const Slot& slot : slots_) {
      if (wanted(slot.object)) objects.push_back(&slot.object);
    }
    std::sort(objects.begin(), objects.end(),
              [](const TypedObject* a, const TypedObject* b) { return name_of(meta_of(*a)) < name_of(meta_of(*b)); });
    return objects;
  }

 private:
  // Versions of one object replace each other; its name is theirs all.
  struct Slot {
    mutable TypedObject object;
  };
  static NamespacedName key(NamespacedName name) { return name; }
  static NamespacedName key(const Slot& slot) { return name_of(meta_of(slot.object)); }
  struct Hash {
    using is_transparent = void;
    size_t operator()(const auto& one) const { return NamespacedNameHash{}(key(one)); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return key(a) == key(b); }
  };
  std::unordered_set<Slot, Hash, Equal> slots_;
};

}  // namespace muster::state
