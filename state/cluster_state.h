// The objects of the cluster that reconcilers act on.
// Filled by the engine; read by reconcilers. One thread.
//
// What the scheduler has decided about them, and no Workload shows yet, is not here but beside it: scheduler_driver.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "api/config/queue_settings.h"
#include "kinds/typed_object.h"
#include "state/gang_index.h"
#include "state/index/index.h"
#include "state/index/object_indexes.h"
#include "state/kept_bytes.h"
#include "state/object_store.h"
#include "state/queue_counts.h"
#include "state/stored_type.h"
#include "state/template_pool.h"
#include "state/write_memory.h"

namespace muster::state {

class ClusterState {
 public:
  explicit ClusterState(const QueueSettings& queues = {});
  // Indexes point into it, so it can be moved and not copied.
  ClusterState(ClusterState&&) noexcept = default;
  ClusterState& operator=(ClusterState&&) noexcept = default;

  // Queries. nullptr when there is no such object. Pointers hold until the next change.
  const TypedObject* find(const ResourceType& type, std::string_view ns, std::string_view name) const;
  // As `find<Workload>("team-a", "train")`; without a namespace for cluster-scoped kinds, with the kind for types whose
  // objects are of several kinds.
  template <class Object>
  const Object* find(const ResourceType& type, std::string_view ns, std::string_view name) const {
    return pointer_to<Object>(find(type, ns, name));
  }
  template <class Object>
  const Object* find(std::string_view ns, std::string_view name) const {
    return pointer_to<Object>(find(*kStoredType<Object>, ns, name));
  }
  template <class Object>
  const Object* find(std::string_view name) const {
    return find<Object>("", name);
  }
  // The same, to keep.
  template <class Object>
  std::shared_ptr<const Object> share(std::string_view ns, std::string_view name) const {
    const TypedObject* object = find(*kStoredType<Object>, ns, name);
    return object == nullptr ? nullptr : std::get<std::shared_ptr<const Object>>(*object);
  }
  // Objects by an index (state/index/index.h), by namespace and name.
  template <class Object>
  std::vector<const Object*> by(const Index<Object>& index, NamespacedName key) const {
    std::vector<const Object*> found;
    made(index).at(key, [&](const auto& place) { found.push_back(&Indexed<Object>::object(place)); });
    return found;
  }
  // The same, to keep.
  template <class Object>
  std::vector<std::shared_ptr<const Object>> share_by(const Index<Object>& index, NamespacedName key) const {
    std::vector<std::shared_ptr<const Object>> found;
    made(index).at(key, [&](const auto& place) { found.push_back(place); });
    return found;
  }
  // Those with a key in this namespace, by key and then by name.
  template <class Object>
  std::vector<std::shared_ptr<const Object>> share_in(const Index<Object>& index, std::string_view ns) const {
    std::vector<std::shared_ptr<const Object>> found;
    made(index).in_namespace(ns, [&](const auto& place) { found.push_back(place); });
    return found;
  }
  // By kind, namespace and name.
  void for_each(const std::function<void(const TypedObject&)>& visit) const;
  // Of one kind, by namespace and name.
  void for_each_of(const ResourceType& type, const std::function<void(const TypedObject&)>& visit) const;
  // Those of one kind that are wanted, by namespace and name: the rest is not sorted.
  std::vector<const TypedObject*> select(const ResourceType& type,
                                         const std::function<bool(const TypedObject&)>& wanted) const;
  // What queues show of their Workloads.
  const QueueCountIndex& queue_counts() const { return queue_counts_; }
  // The Jobs and pods of gangs, counted.
  const GangIndex& gangs() const { return gangs_; }
  // Memory that all objects take.
  const KeptBytes& kept_bytes() const { return kept_bytes_; }
  // What answers to writes said and no object shows.
  const WriteMemory& writes() const { return writes_; }

  // Changes.

  // What an object replaced: nullopt when it is new. `after` is what is kept of it.
  struct Change {
    std::optional<TypedObject> before;
    const TypedObject* after;
  };
  // From the answer to a write. nullopt, and nothing changes, when a newer version is
  // here, or when the watch of its kind has gone past this version and has seen it go.
  std::optional<Change> put(const TypedObject& object);
  // From a watch, which tells each kind's history in order. nullopt: as known.
  std::optional<Change> put_watched(const TypedObject& object);
  // A watch saw an object go. Returns what was known of it.
  std::optional<TypedObject> remove_watched(const TypedObject& object);
  // An answer said that there is no such object (any more).
  std::optional<TypedObject> remove(const ObjectKey& key);
  // A complete list of a kind as it was at `version`, whose objects have been put: the
  // others are gone, but for those that are younger than the list. Returns them.
  std::vector<TypedObject> drop_missing(const ResourceType& type, const std::vector<ObjectKey>& listed,
                                        uint64_t version);
  WriteMemory& writes() { return writes_; }

  // After an exception in the middle of a change it is unknown which index has it: the same
  // objects, put one after the other into a fresh state, which takes over how far the watches
  // are. `takes` says which; what was not taken is as if it were not there. Throws what putting
  // throws, with this state as it was; `putting` is the object of that.
  void rebuild(const std::function<bool(const TypedObject&)>& takes, ObjectKey& putting);

 private:
  std::optional<Change> set(const TypedObject& object);
  void count_in(const TypedObject& object);
  void count_out(const TypedObject& object);
  template <class Object>
  const ObjectIndex<Object>& made(const Index<Object>& index) const {
    return indexes_.get(index, [this](const auto& visit) { for_each_place(visit); });
  }
  // In any order.
  void for_each_place(const std::function<void(const TypedObject&)>& visit) const;

  QueueSettings queues_;
  std::map<KindId, ObjectStore> objects_;
  std::map<KindId, uint64_t> seen_;
  mutable ObjectIndexes indexes_;  // made when a query needs them
  QueueCountIndex queue_counts_;
  GangIndex gangs_;
  KeptBytes kept_bytes_;
  TemplatePool templates_;
  WriteMemory writes_;
};

}  // namespace muster::state
