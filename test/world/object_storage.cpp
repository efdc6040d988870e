#include "test/world/object_storage.h"

#include <algorithm>

#include "api/codec/json.h"

namespace muster::world {

using nlohmann::json;

ObjectKey key_of(const ResourceType& type, const json& object) {
  return {&type, std::string(string_at(object, {"metadata", "namespace"})),
          std::string(string_at(object, {"metadata", "name"}))};
}

ObjectPtr ObjectStorage::put(const ResourceType& type, json object, const ObjectPtr& before) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  const ObjectKey key = key_of(type, object);
  auto after = std::make_shared<const json>(std::move(object));
  if (before != nullptr) index_owners(key, *before, false);
  index_owners(key, *after, true);
  uids_.insert(std::string(string_at(*after, {"metadata", "uid"})));
  objects_[stored_id(type)][path_of(key.ns, key.name)] = after;
  publish({.type = &type, .version = version_, .before = before, .after = after});
  return after;
}

ObjectPtr ObjectStorage::erase(const ResourceType& type, json last) {
  const ObjectKey key = key_of(type, last);
  Objects& objects = objects_[stored_id(type)];
  const auto found = objects.find(path_of(key.ns, key.name));
  const ObjectPtr stored = found->second;
  last["metadata"]["resourceVersion"] = std::to_string(++version_);
  index_owners(key, *stored, false);
  uids_.erase(std::string(string_at(last, {"metadata", "uid"})));
  objects.erase(found);
  auto after = std::make_shared<const json>(std::move(last));
  publish({.type = &type, .version = version_, .before = stored, .after = after, .removed = true});
  return after;
}

void ObjectStorage::index_owners(const ObjectKey& key, const json& object, bool add) {
  for (const json& owner : array_at(object, {"metadata", "ownerReferences"})) {
    const std::string uid(string_at(owner, {"uid"}));
    if (add) {
      dependents_[uid].insert(key);
      continue;
    }
    const auto found = dependents_.find(uid);
    if (found == dependents_.end()) continue;
    found->second.erase(key);
    if (found->second.empty()) dependents_.erase(found);
  }
}

void ObjectStorage::publish(Change change) {
  history_.push_back(change);
  while (history_.size() > history_limit_) {
    compacted_ = history_.front().version;
    history_.pop_front();
  }
  for (const auto& listener : listeners_) listener(change);
}

ObjectPtr ObjectStorage::get(const ObjectKey& key) const {
  const auto kind = objects_.find(stored_id(*key.type));
  if (kind == objects_.end()) return nullptr;
  const auto found = kind->second.find(path_of(key.ns, key.name));
  return found == kind->second.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> ObjectStorage::list(const ResourceType& type, const Selection& selection) const {
  std::vector<ObjectPtr> found;
  const auto kind = objects_.find(stored_id(type));
  if (kind == objects_.end()) return found;
  for (const auto& [path, object] : kind->second) {
    if (selection.matches(*object)) found.push_back(object);
  }
  return found;
}

std::vector<ObjectKey> ObjectStorage::dependents_of(const std::string& uid) const {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::optional<std::vector<Change>> ObjectStorage::changes_since(const ResourceType& type, const Selection& selection,
                                                                uint64_t version) const {
  if (version < compacted_) return std::nullopt;
  std::vector<Change> seen;
  const auto first = std::upper_bound(history_.begin(), history_.end(), version,
                                      [](uint64_t wanted, const Change& change) { return wanted < change.version; });
  for (auto change = first; change != history_.end(); ++change) {
    if (stored_id(*change->type) != stored_id(type)) continue;
    const bool was_there = change->before != nullptr && selection.matches(*change->before);
    const bool is_there = !change->removed && selection.matches(*change->after);
    if (!was_there && !is_there) continue;
    Change told = *change;
    if (!was_there) told.before = nullptr;
    told.removed = !is_there;
    if (told.removed && !change->removed) {
      json last = *change->before;
      last["metadata"]["resourceVersion"] = std::to_string(change->version);
      told.after = std::make_shared<const json>(std::move(last));
    }
    seen.push_back(std::move(told));
  }
  return seen;
}

}  // namespace muster::world
