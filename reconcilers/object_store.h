// The objects of one kind by namespace and name. What lies here stays where it is until it
// is removed, also when a newer version takes its place.
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "api/typed_object.h"

namespace muster {

// One thread.
class ObjectStore {
 public:
  struct Path {
    std::string_view ns;  // empty for cluster-scoped kinds
    std::string_view name;

    bool operator==(const Path&) const = default;
  };

  // nullptr: there is none. Good until that object is removed.
  TypedObject* find(Path path) {
    const auto found = slots_.find(path);
    return found == slots_.end() ? nullptr : &found->object;
  }
  const TypedObject* find(Path path) const {
    const auto found = slots_.find(path);
    return found == slots_.end() ? nullptr : &found->object;
  }
  // Of an object that is not here.
  TypedObject& add(const TypedObject& object) { return slots_.insert(Slot{object}).first->object; }
  void remove(Path path) {
    if (const auto found = slots_.find(path); found != slots_.end()) slots_.erase(found);
  }
  // All of them, by namespace and name.
  std::vector<const TypedObject*> sorted() const {
    std::vector<const TypedObject*> objects;
    objects.reserve(slots_.size());
    for (const Slot& slot : slots_) objects.push_back(&slot.object);
    std::sort(objects.begin(), objects.end(), [](const TypedObject* a, const TypedObject* b) {
      const ObjectMeta &left = meta_of(*a), &right = meta_of(*b);
      return std::tie(left.ns, left.name) < std::tie(right.ns, right.name);
    });
    return objects;
  }

 private:
  // Versions of one object replace each other; its path is theirs all.
  struct Slot {
    mutable TypedObject object;
  };
  static Path path_of(const Slot& slot) {
    const ObjectMeta& meta = meta_of(slot.object);
    return {meta.ns, meta.name};
  }
  struct Hash {
    using is_transparent = void;
    size_t operator()(Path path) const {
      const std::hash<std::string_view> hash;
      return hash(path.name) ^ (hash(path.ns) << 1U);
    }
    size_t operator()(const Slot& slot) const { return (*this)(path_of(slot)); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return path_of(a) == path_of(b); }
    bool operator()(const Slot& a, Path b) const { return path_of(a) == b; }
    bool operator()(Path a, const Slot& b) const { return a == path_of(b); }
  };
  std::unordered_set<Slot, Hash, Equal> slots_;
};

}  // namespace muster
