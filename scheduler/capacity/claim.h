// What a Workload holds or asks for: amounts of quota, and uses of further capacities (scheduler/capacity/
// further_capacity.h). A value. Without further capacities it is no larger to copy than its amounts.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "scheduler/quota/ledger.h"
#include "scheduler/quota/names.h"

namespace muster::scheduler {

// The kinds of capacity: quota, then the further ones in the order in which the Capacity has them.
using CapacityId = uint32_t;
inline constexpr CapacityId kQuotaCapacity = 0;

// A quota, or one unit of a further capacity, which numbers its units itself. A Workload can wait for either.
struct CapacityKey {
  CapacityId capacity = kQuotaCapacity;
  uint32_t unit = 0;  // of kQuotaCapacity: a QuotaId

  CapacityKey() = default;
  CapacityKey(QuotaId quota) : unit(quota) {}
  CapacityKey(CapacityId of, uint32_t which) : capacity(of), unit(which) {}
  auto operator<=>(const CapacityKey&) const = default;
};

// Of a further capacity, in its own measure.
struct CapacityUse {
  CapacityKey key;
  int64_t amount;

  bool operator==(const CapacityUse&) const = default;
};
// One entry per key, sorted by key.
using CapacityUses = std::vector<CapacityUse>;
void add_use(CapacityUses& uses, const CapacityUse& use);
void add_uses(CapacityUses& uses, const CapacityUses& more);

// One question to the further capacities: a number of pods of a pod set, on a flavor. A pod set is asked about once for
// each flavor that it gets, one for each of its resource groups.
struct FurtherAsk {
  uint32_t pod_set;  // index
  int32_t count;
  FlavorId flavor;
};

struct Claim {
  Amounts quota{};
  CapacityUses further{};

  bool operator==(const Claim&) const = default;
};

}  // namespace muster::scheduler
