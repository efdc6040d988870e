#include "engine/write_expectations.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::engine {

void WriteExpectations::add(const ObjectKey& target, uint64_t version, const ObjectKey& request) {
  writes_.emplace(target, Unseen{version, request});
}

std::vector<ObjectKey> WriteExpectations::take_seen(const TypedObject& object) {
  return take_until(object, meta_of(object).resource_version);
}

std::vector<ObjectKey> WriteExpectations::take_gone(const TypedObject& object) {
  return take_until(object, std::numeric_limits<uint64_t>::max());
}

bool WriteExpectations::any_of(const ResourceType& type) const {
  return std::any_of(writes_.begin(), writes_.end(), [&](const auto& write) { return *write.first.type == type; });
}

std::vector<ObjectKey> WriteExpectations::take_until(const TypedObject& object, uint64_t version) {
  std::vector<ObjectKey> requests;
  if (writes_.empty()) return requests;
  auto [write, end] = writes_.equal_range(key_of(object));
  while (write != end) {
    if (write->second.version > version) {
      ++write;
      continue;
    }
    requests.push_back(std::move(write->second.request));
    write = writes_.erase(write);
  }
  return requests;
}

}  // namespace muster::engine
