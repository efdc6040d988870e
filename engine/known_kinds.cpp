#include "engine/known_kinds.h"

#include "kinds/watched_kinds.h"

namespace muster::engine {
namespace {

std::vector<const ResourceType*> watched_types() {
  std::vector<const ResourceType*> types;
  for (const WatchedKind& kind : watched_kinds()) types.push_back(kind.type);
  return types;
}

// nullptr: not of the engine's.
const WatchedKind* find_kind(const ResourceType& type) {
  for (const WatchedKind& kind : watched_kinds()) {
    if (*kind.type == type) return &kind;
  }
  return nullptr;
}

}  // namespace

KnownKinds::KnownKinds() : expected_(watched_kinds().size()), catch_up_(watched_types()) {}

std::vector<std::string> KnownKinds::missing() const {
  std::vector<std::string> names;
  for (const WatchedKind& kind : watched_kinds()) {
    if (missing_.contains(kind.type->id())) names.push_back(full_name(*kind.type));
  }
  return names;
}

std::vector<std::string> KnownKinds::behind() const {
  std::vector<std::string> names;
  for (const ResourceType* kind : catch_up_.behind()) names.push_back(full_name(*kind));
  return names;
}

bool KnownKinds::note_listed(const ResourceType& type) {
  if (find_kind(type) == nullptr) return false;
  listed_.insert(type.id());
  missing_.erase(type.id());
  return unknown_.erase(type.id()) > 0;
}

void KnownKinds::note_absent(const ResourceType& type, bool had_objects) {
  const WatchedKind* kind = find_kind(type);
  if (kind == nullptr) return;
  if (!kind->optional || had_objects)
    missing_.insert(type.id());
  else if (listed_.insert(type.id()).second)
    unknown_.insert(type.id());
}

void KnownKinds::await(uint64_t term) {
  catch_up_.await(term);
  current_ = catch_up_.done();
}

bool KnownKinds::note_caught_up(const ResourceType& type, uint64_t term) {
  catch_up_.caught_up(type, term);
  const bool before = current_;
  current_ = catch_up_.done();
  return current_ != before;
}

}  // namespace muster::engine
