// Indexes over the objects of ClusterState: objects by something that each has, as its owner or its queue.
//
// An index is declared where it is used, as controller-runtime's field indexes, but typed:
//
//   inline constexpr Index<Workload> kWorkloadsByUid{.key = uid_of};
//   for (const Workload* workload : state.by(kWorkloadsByUid, {"", uid})) ...
//
// ClusterState makes it at the first question and keeps it current from then on. An index that is never used costs
// nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "kinds/typed_object.h"
#include "state/namespaced_name.h"

namespace muster::state {

// A constant of static storage duration: its address is its identity. `Object` is a type of kinds/typed_object.h
// (Workload, Job and so on), or TypedObject for an index over all kinds. One of the two functions is set. Both are pure
// functions of the object, whose results refer to its texts.
template <class Object>
struct Index {
  // nullopt: the index does not contain the object.
  std::optional<NamespacedName> (*key)(const Object& object) = nullptr;
  // For objects with several keys: the nth, from 0; nullopt: there are no more. Keys can be equal.
  std::optional<NamespacedName> (*nth_key)(const Object& object, size_t nth) = nullptr;

  std::optional<NamespacedName> key_at(const Object& object, size_t nth) const {
    if (key == nullptr) return nth_key(object, nth);
    return nth == 0 ? key(object) : std::nullopt;
  }
};

// An index that was made, for whoever changes objects. A place is where the newest version of an object is, and stays
// where it is until the object is removed. One thread.
class AnyIndex {
 public:
  virtual ~AnyIndex() = default;
  virtual void insert(const TypedObject& place) = 0;
  virtual void erase(const TypedObject& place) = 0;
  // Both versions of an object have the same keys.
  virtual bool same(const TypedObject& a, const TypedObject& b) const = 0;
};

// What an index of `Object` keeps: the address of `Place` in a place.
template <class Object>
struct Indexed {
  using Place = std::shared_ptr<const Object>;
  static const Place& place(const TypedObject& object) { return std::get<Place>(object); }
  static const Object& object(const Place& place) { return *place; }
  static NamespacedName order(const Object& object) { return name_of(object.meta); }
};
// Objects of two kinds can have one name.
template <>
struct Indexed<TypedObject> {
  using Place = TypedObject;
  static const Place& place(const TypedObject& object) { return object; }
  static const TypedObject& object(const Place& place) { return place; }
  static auto order(const TypedObject& object) {
    return std::tuple(object.index(), name_of(meta_of(object)), type_of(object).id());
  }
};

// A newer version of an object with the same key costs nothing: an entry is a place, and not a name.
template <class Object>
class ObjectIndex final : public AnyIndex {
 public:
  using Place = typename Indexed<Object>::Place;

  // `declared` must outlive it.
  explicit ObjectIndex(const Index<Object>& declared) : declared_(declared), entries_(Order{&declared}) {}

  void insert(const TypedObject& object) override {
    for_each_entry(object, [this](const Entry& entry) { entries_.insert(entry); });
  }
  void erase(const TypedObject& object) override {
    for_each_entry(object, [this](const Entry& entry) { entries_.erase(entry); });
  }
  bool same(const TypedObject& a, const TypedObject& b) const override {
    const Object &one = object_in(a), &other = object_in(b);
    for (size_t nth = 0;; ++nth) {
      const auto key = declared_.key_at(one, nth);
      if (key != declared_.key_at(other, nth)) return false;
      if (!key) return true;
    }
  }

  // Calls visit(place) for each object with this key, by namespace and name.
  template <class Visit>
  void at(NamespacedName key, Visit visit) const {
    for (auto [entry, end] = entries_.equal_range(key); entry != end; ++entry) visit(*entry->place);
  }
  // For those with a key in this namespace, by key and then by name.
  template <class Visit>
  void in_namespace(std::string_view ns, Visit visit) const {
    const Order order{&declared_};
    for (auto entry = entries_.lower_bound(NamespacedName{ns, ""}); entry != entries_.end(); ++entry) {
      if (order.key(*entry).ns != ns) break;
      visit(*entry->place);
    }
  }

 private:
  struct Entry {
    const Place* place;
    size_t nth;
  };
  struct Order {
    using is_transparent = void;
    const Index<Object>* declared;

    NamespacedName key(const Entry& entry) const {
      return *declared->key_at(Indexed<Object>::object(*entry.place), entry.nth);
    }
    auto whole(const Entry& entry) const {
      return std::pair(key(entry), Indexed<Object>::order(Indexed<Object>::object(*entry.place)));
    }
    bool operator()(const Entry& a, const Entry& b) const { return whole(a) < whole(b); }
    bool operator()(const Entry& a, NamespacedName b) const { return key(a) < b; }
    bool operator()(NamespacedName a, const Entry& b) const { return a < key(b); }
  };

  static const Object& object_in(const TypedObject& object) {
    return Indexed<Object>::object(Indexed<Object>::place(object));
  }
  template <class Visit>
  void for_each_entry(const TypedObject& object, Visit visit) {
    const Place& place = Indexed<Object>::place(object);
    for (size_t nth = 0; declared_.key_at(Indexed<Object>::object(place), nth); ++nth) visit(Entry{&place, nth});
  }

  const Index<Object>& declared_;
  std::set<Entry, Order> entries_;
};

}  // namespace muster::state
