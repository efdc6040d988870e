#include "scheduler/capacity/claim.h"

#include <algorithm>

namespace muster::scheduler {

// Sums are compared with what an object says, so they must not depend on the order of the uses.
void add_use(CapacityUses& uses, const CapacityUse& use) {
  const auto at = std::lower_bound(uses.begin(), uses.end(), use.key,
                                   [](const CapacityUse& entry, CapacityKey key) { return entry.key < key; });
  if (at != uses.end() && at->key == use.key)
    at->amount += use.amount;
  else
    uses.insert(at, use);
}

void add_uses(CapacityUses& uses, const CapacityUses& more) {
  for (const CapacityUse& use : more) add_use(uses, use);
}

}  // namespace muster::scheduler
