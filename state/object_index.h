// Objects of one kind by something that each has: its owner, its queue. An entry is a
// place where the newest version of an object lies, not its name, so that a newer version
// that has the same costs nothing.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "state/namespaced_name.h"

namespace muster::state {

// `key_of` reads from an object what it is found by; nullopt: it is not to be found.
// One thread.
template <class Object, std::optional<NamespacedName> (*key_of)(const Object&)>
class ObjectIndex {
 public:
  // Must stay where it is while it is here, and hold an object with the same key and name.
  using Place = std::shared_ptr<const Object>;

  void insert(const Place& place) {
    if (key_of(*place)) places_.insert(&place);
  }
  void erase(const Place& place) {
    if (key_of(*place)) places_.erase(&place);
  }
  // By namespace and name.
  std::vector<const Object*> at(NamespacedName key) const {
    std::vector<const Object*> found;
    for (auto [entry, end] = places_.equal_range(key); entry != end; ++entry) found.push_back((*entry)->get());
    return found;
  }
  // The same, to keep.
  std::vector<Place> shared_at(NamespacedName key) const {
    std::vector<Place> found;
    for (auto [entry, end] = places_.equal_range(key); entry != end; ++entry) found.push_back(**entry);
    return found;
  }
  // Those with a key in this namespace, by key and then by name.
  std::vector<Place> in_namespace(std::string_view ns) const {
    std::vector<Place> found;
    for (auto entry = places_.lower_bound(NamespacedName{ns, ""}); entry != places_.end(); ++entry) {
      if (key_of(***entry)->ns != ns) break;
      found.push_back(**entry);
    }
    return found;
  }
  static bool same(const Object& a, const Object& b) { return key_of(a) == key_of(b); }

 private:
  struct ByKeyAndPath {
    using is_transparent = void;
    bool operator()(const Place* a, const Place* b) const {
      return std::pair(*key_of(**a), name_of((*a)->meta)) < std::pair(*key_of(**b), name_of((*b)->meta));
    }
    bool operator()(const Place* a, NamespacedName key) const { return *key_of(**a) < key; }
    bool operator()(NamespacedName key, const Place* a) const { return key < *key_of(**a); }
  };
  std::set<const Place*, ByKeyAndPath> places_;
};

}  // namespace muster::state
