// What a new leader waits for. The watches of a replica that followed were possibly broken or late, and
// then it has not seen what the leader before it admitted: quota is given twice by whoever decides on that.
// Writes are fenced one object at a time (resourceVersion), sums over objects are not.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "api/meta/resource_type.h"

namespace muster::engine {

// Not thread-safe.
class CatchUp {
 public:
  // `kinds` must outlive it: what has to catch up.
  explicit CatchUp(std::vector<const ResourceType*> kinds) : kinds_(std::move(kinds)) {}

  // Each kind has to catch up with this term; 0: none has to.
  void await(uint64_t term) { awaited_ = term; }
  // Can come before the term is awaited.
  void caught_up(const ResourceType& kind, uint64_t term);

  bool done() const { return behind().empty(); }
  // In the order in which they were given.
  std::vector<const ResourceType*> behind() const;

 private:
  std::vector<const ResourceType*> kinds_;
  uint64_t awaited_ = 0;
  std::map<KindId, uint64_t> reached_;
};

}  // namespace muster::engine
