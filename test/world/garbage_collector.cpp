#include "test/world/garbage_collector.h"

#include <algorithm>

#include "api/codec/json.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kForeground = "foregroundDeletion";
constexpr const char* kOrphan = "orphan";

bool is_deleted_with(const json& object, const char* finalizer) {
  const json& finalizers = array_at(object, {"metadata", "finalizers"});
  return is_deleting(object) && std::find(finalizers.begin(), finalizers.end(), finalizer) != finalizers.end();
}

bool in_foreground(const json& object) {
  return is_deleted_with(object, kForeground);
}

bool blocks(const json& dependent, std::string_view owner_uid) {
  const json& owners = array_at(dependent, {"metadata", "ownerReferences"});
  return std::any_of(owners.begin(), owners.end(), [&](const json& owner) {
    return string_at(owner, {"uid"}) == owner_uid && bool_at(owner, {"blockOwnerDeletion"});
  });
}

}  // namespace

GarbageCollector::GarbageCollector(ApiServer& server, Timeline& timeline, uint64_t seed)
    : server_(server), timeline_(timeline), chance_(seed, "garbage collector") {
  server_.on_change([this](const Change& change) { see(change); });
}

void GarbageCollector::see(const Change& change) {
  const json& object = *change.after;
  const std::string uid(string_at(object, {"metadata", "uid"}));
  // Owners that were deleted, or stopped waiting for their dependents, are events for these dependents; a
  // deleted dependent is an event for its owners.
  if (change.removed || in_foreground(object)) {
    for (const ObjectKey& dependent : server_.dependents_of(uid)) look_soon(dependent);
  }
  if (!change.removed && (change.before == nullptr || in_foreground(object) || is_deleted_with(object, kOrphan)))
    look_soon(key_of(*change.type, object));
  if (!change.removed) return;
  for (const json& owner : array_at(object, {"metadata", "ownerReferences"})) {
    const ResourceType* type = find_type(owner);
    if (type == nullptr) continue;
    look_soon({type, type->namespaced ? std::string(string_at(object, {"metadata", "namespace"})) : "",
               std::string(string_at(owner, {"name"}))});
  }
}

void GarbageCollector::look_soon(const ObjectKey& key) {
  timeline_.after(chance_.between(milliseconds(5), milliseconds(200)), [this, key] { look_at(key); });
}

void GarbageCollector::look_at(const ObjectKey& key) {
  const ObjectPtr object = server_.get(key);
  if (object == nullptr) return;
  if (in_foreground(*object)) finish_foreground(key, *object);
  if (is_deleted_with(*object, kOrphan)) return orphan_dependents(key, *object);
  const json& owners = array_at(*object, {"metadata", "ownerReferences"});
  if (owners.empty() || is_deleting(*object)) return;
  bool any_lives = false, any_waits = false;
  for (const json& owner : owners) {
    const std::string uid(string_at(owner, {"uid"}));
    if (!server_.exists(uid)) continue;
    const ResourceType* type = find_type(owner);
    const ObjectPtr found =
        type == nullptr ? nullptr
                        : server_.get({type, type->namespaced ? key.ns : "", std::string(string_at(owner, {"name"}))});
    const bool waits = found != nullptr && string_at(*found, {"metadata", "uid"}) == uid && in_foreground(*found);
    any_waits |= waits;
    any_lives |= !waits;
  }
  if (any_lives) return;
  const std::string uid(string_at(*object, {"metadata", "uid"}));
  const bool has_dependents = !server_.dependents_of(uid).empty();
  server_.remove(key, {.uid = uid,
                       .propagation = any_waits && has_dependents ? reconcilers::Propagation::kForeground
                                                                  : reconcilers::Propagation::kBackground});
}

void GarbageCollector::finish_foreground(const ObjectKey& key, const json& object) {
  const std::string uid(string_at(object, {"metadata", "uid"}));
  for (const ObjectKey& dependent : server_.dependents_of(uid)) {
    const ObjectPtr found = server_.get(dependent);
    if (found != nullptr && blocks(*found, uid)) return;
  }
  drop_finalizer(key, object, kForeground);
}

void GarbageCollector::orphan_dependents(const ObjectKey& key, const json& object) {
  const std::string uid(string_at(object, {"metadata", "uid"}));
  for (const ObjectKey& dependent : server_.dependents_of(uid)) {
    const ObjectPtr found = server_.get(dependent);
    if (found == nullptr) continue;
    json owners = array_at(*found, {"metadata", "ownerReferences"});
    std::erase_if(owners.get_ref<json::array_t&>(),
                  [&](const json& owner) { return string_at(owner, {"uid"}) == uid; });
    server_.patch(dependent, {{"metadata", {{"ownerReferences", std::move(owners)}}}});
  }
  drop_finalizer(key, object, kOrphan);
}

void GarbageCollector::drop_finalizer(const ObjectKey& key, const json& object, const char* finalizer) {
  json finalizers = object["metadata"]["finalizers"];
  finalizers.erase(std::find(finalizers.begin(), finalizers.end(), finalizer));
  server_.patch(key, {{"metadata", {{"uid", string_at(object, {"metadata", "uid"})}, {"finalizers", finalizers}}}});
}

}  // namespace muster::world
