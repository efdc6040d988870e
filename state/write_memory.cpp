#include "state/write_memory.h"

#include <algorithm>
#include <utility>

namespace muster::state {

const WriteMemory::Rejection* WriteMemory::rejection(const ObjectKey& owner) const {
  const auto found = rejections_.find(owner);
  return found == rejections_.end() ? nullptr : &found->second.back();
}

const WriteMemory::Rejection* WriteMemory::rejection(const ObjectKey& owner, const ResourceType& type) const {
  const auto found = rejections_.find(owner);
  if (found == rejections_.end()) return nullptr;
  const auto of_type = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const Rejection& rejection) { return *rejection.target.type == type; });
  return of_type == found->second.end() ? nullptr : &*of_type;
}

void WriteMemory::note_rejection(const ObjectKey& owner, const ObjectKey& target, std::string why) {
  std::vector<Rejection>& of_owner = rejections_[owner];
  std::erase_if(of_owner, [&](const Rejection& rejection) { return *rejection.target.type == *target.type; });
  of_owner.push_back({target, std::move(why)});
}

void WriteMemory::forget_rejection(const ObjectKey& owner, const ObjectKey& target) {
  const auto found = rejections_.find(owner);
  if (found == rejections_.end()) return;
  std::erase_if(found->second, [&](const Rejection& rejection) { return rejection.target == target; });
  if (found->second.empty()) rejections_.erase(found);
}

void WriteMemory::object_put(const TypedObject& object) {
  if (!name_conflicts_.empty()) name_conflicts_.erase(key_of(object));
}

void WriteMemory::object_removed(const ObjectKey& key) {
  if (!rejections_.empty()) rejections_.erase(key);
}

}  // namespace muster::state
