#include "engine/catch_up.h"

#include <algorithm>

namespace muster::engine {

void CatchUp::caught_up(const ResourceType& kind, uint64_t term) {
  uint64_t& reached = reached_[kind.id()];
  reached = std::max(reached, term);
}

std::vector<const ResourceType*> CatchUp::behind() const {
  std::vector<const ResourceType*> behind;
  if (awaited_ == 0) return behind;
  for (const ResourceType* kind : kinds_) {
    const auto reached = reached_.find(kind->id());
    if (reached == reached_.end() || reached->second < awaited_) behind.push_back(kind);
  }
  return behind;
}

}  // namespace muster::engine
