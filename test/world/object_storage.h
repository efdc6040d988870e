// Storage of a Kubernetes API server in memory, as etcd and the watch cache are to it: the versions of objects, one
// counter of resourceVersions, the history that watches resume from, and an index by owner. No rules: those are the
// ApiServer's.
//
// Objects are handed out as shared, immutable JSON: no caller can change what is stored. One thread. Listeners are
// called at once, in order, and must not write from within; they ask the Timeline for a turn.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kinds/typed_object.h"
#include "test/world/selection.h"

namespace muster::world {

using ObjectPtr = std::shared_ptr<const nlohmann::json>;

// One step of history.
struct Change {
  const ResourceType* type;
  uint64_t version;
  ObjectPtr before;  // null: created
  ObjectPtr after;   // of a removed object its last state, with the version of its removal
  bool removed = false;
};

ObjectKey key_of(const ResourceType& type, const nlohmann::json& object);
// One resource, whatever watch it was seen by.
inline KindId stored_id(const ResourceType& type) {
  return {type.plural, type.group, {}};
}

class ObjectStorage {
 public:
  using Listener = std::function<void(const Change&)>;

  // `history`: changes that watches can resume from; older ones are compacted away.
  explicit ObjectStorage(size_t history) : history_limit_(history) {}

  // Stores a version; the resourceVersion is set here. `before`: the stored one, null: a new object.
  ObjectPtr put(const ResourceType& type, nlohmann::json object, const ObjectPtr& before);
  // `last`: its last state, of an object that is stored. Returns it with the version of its removal.
  ObjectPtr erase(const ResourceType& type, nlohmann::json last);

  // Null: none.
  ObjectPtr get(const ObjectKey& key) const;
  // By namespace and name.
  std::vector<ObjectPtr> list(const ResourceType& type, const Selection& selection) const;
  uint64_t version() const { return version_; }
  // See ApiServer::changes_since().
  std::optional<std::vector<Change>> changes_since(const ResourceType& type, const Selection& selection,
                                                   uint64_t version) const;
  // Objects that name this uid among their owners.
  std::vector<ObjectKey> dependents_of(const std::string& uid) const;
  // Whether any object has this uid.
  bool exists(const std::string& uid) const { return uids_.contains(uid); }

  void on_change(Listener listener) { listeners_.push_back(std::move(listener)); }
  // Forgets all history: a watch that resumes gets a 410.
  void compact() { history_.clear(), compacted_ = version_; }

 private:
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;  // "ns/name"

  void publish(Change change);
  void index_owners(const ObjectKey& key, const nlohmann::json& object, bool add);

  const size_t history_limit_;
  std::map<KindId, Objects> objects_;
  std::map<std::string, std::set<ObjectKey>, std::less<>> dependents_;  // by the owner's uid
  std::set<std::string, std::less<>> uids_;
  std::deque<Change> history_;
  uint64_t version_ = 1000;
  uint64_t compacted_ = 0;
  std::vector<Listener> listeners_;
};

}  // namespace muster::world
