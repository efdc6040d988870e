#include "engine/unseen_writes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster {

void UnseenWrites::add(const ObjectKey& target, uint64_t version, const ObjectKey& lane) {
  writes_.emplace(target, Unseen{version, lane});
}

std::vector<ObjectKey> UnseenWrites::take_seen(const TypedObject& object) {
  return take_until(object, meta_of(object).resource_version);
}

std::vector<ObjectKey> UnseenWrites::take_gone(const TypedObject& object) {
  return take_until(object, std::numeric_limits<uint64_t>::max());
}

bool UnseenWrites::any_of(const ResourceType& type) const {
  return std::any_of(writes_.begin(), writes_.end(),
                     [&](const auto& write) { return write.first.type->plural == type.plural; });
}

std::vector<ObjectKey> UnseenWrites::take_until(const TypedObject& object, uint64_t version) {
  std::vector<ObjectKey> lanes;
  if (writes_.empty()) return lanes;
  auto [write, end] = writes_.equal_range(key_of(object));
  while (write != end) {
    if (write->second.version > version) {
      ++write;
      continue;
    }
    lanes.push_back(std::move(write->second.lane));
    write = writes_.erase(write);
  }
  return lanes;
}

}  // namespace muster
