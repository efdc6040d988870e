// Objects of one kind by something that each has: its owner, its queue. An entry is a
// place where the newest version of an object lies, not its name, so that a newer version
// that has the same costs nothing.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace muster {

// What objects are found by: something in a namespace, or with an empty one in the cluster.
struct IndexKey {
  std::string_view ns;
  std::string_view name;

  auto operator<=>(const IndexKey&) const = default;
};

// `key_of` reads it from an object; nullopt: it is not to be found. One thread.
template <class Object, std::optional<IndexKey> (*key_of)(const Object&)>
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
  std::vector<const Object*> at(IndexKey key) const {
    std::vector<const Object*> found;
    for (auto [entry, end] = places_.equal_range(key); entry != end; ++entry) found.push_back((*entry)->get());
    return found;
  }
  static bool same(const Object& a, const Object& b) { return key_of(a) == key_of(b); }

 private:
  struct ByKeyAndPath {
    using is_transparent = void;
    bool operator()(const Place* a, const Place* b) const {
      const auto &left = (*a)->meta, &right = (*b)->meta;
      return std::tuple(*key_of(**a), std::tie(left.ns, left.name)) <
             std::tuple(*key_of(**b), std::tie(right.ns, right.name));
    }
    bool operator()(const Place* a, IndexKey key) const { return *key_of(**a) < key; }
    bool operator()(IndexKey key, const Place* a) const { return key < *key_of(**a); }
  };
  std::set<const Place*, ByKeyAndPath> places_;
};

}  // namespace muster
