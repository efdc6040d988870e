// The extension point for what Workloads hold beside quota, and of which a limited number exists: places on nodes,
// devices, licenses. docs/recipes.md has the steps.
//
// A flavor that has quota for a pod set, now or after preemption, asks every further capacity for its uses. The answer
// with a shortage makes the flavor one that needs preemption or does not fit, so the choice of flavors, preemption,
// partial admission and waiting know no capacity by name. The uses become a part of the Workload's claim, which is
// counted in units: a unit is what a Workload waits for. A pure function of the counts, except add(). One thread.
//
// The same question is asked again when counts differ: without each set of victims, since other units can be free then,
// and when earlier Workloads of a cycle have taken the units of the first answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/capacity/claim.h"

namespace muster {

struct Admission;
struct PodSet;
struct PodSetAssignment;
struct Workload;

}  // namespace muster

namespace muster::scheduler {

// Why a pod set gets no uses now.
struct Shortage {
  CapacityKey key;
  int64_t needed = 0;      // of `key`, also by the earlier pod sets: the Workload waits until this amount is available
  bool permanent = false;  // more than exists: no release helps
  std::string message;     // "insufficient licenses in flavor spot, 2 more needed": a part of the condition's message
  std::string change;      // what would have to change; a sentence
};

// One pod set on one flavor.
struct PodSetAsk {
  const Workload& workload;
  const PodSet& pod_set;
  int32_t count;  // of pods: fewer than the pod set has after partial admission, and when pods have ended
  std::string_view flavor;
  // Not counted yet: what the Workload is to get for its other pod sets, and what this one is to get on flavors of its
  // other resource groups. The pods are the same, so what they use once is in one of the answers only.
  const CapacityUses& earlier;
  const CapacityUses& of_pod_set;
};

struct CapacityAnswer {
  CapacityUses uses{};  // without need: none. With a shortage: what the Workload would get
  std::optional<Shortage> shortage{};
};

class FurtherCapacity {
 public:
  FurtherCapacity() = default;
  virtual ~FurtherCapacity() = default;
  FurtherCapacity(const FurtherCapacity&) = delete;
  FurtherCapacity& operator=(const FurtherCapacity&) = delete;

  // Of the keys of its uses. Valid once it belongs to a Capacity.
  CapacityId id() const { return id_; }

  virtual CapacityAnswer assign(const PodSetAsk& ask) const = 0;
  // Adds to the assignment of a pod set, which has its flavors and count, what held() needs beside them to read the
  // same uses. The uses are those of the pod set, of all further capacities.
  virtual void write(const CapacityUses&, PodSetAssignment&) const {}
  // The uses of a Workload with quota, as its object says: the same that assign() has answered.
  virtual CapacityUses held(const Workload& workload, const Admission& admission) const = 0;
  // What assign() reads of a pod set, apart from its spec, count and topology request. Workloads with different texts
  // are evaluated separately.
  virtual std::string text_of(const Workload& workload, const PodSet& pod_set) const = 0;

  // Unused; 0 or less when more is used than exists, as while Workloads that are preempted still run.
  virtual int64_t available(uint32_t unit) const = 0;
  // Counts a use; a negative amount undoes one.
  virtual void add(uint32_t unit, int64_t amount) = 0;

 private:
  friend class Capacity;
  CapacityId id_ = kQuotaCapacity;
};

using FurtherCapacities = std::vector<std::unique_ptr<FurtherCapacity>>;

}  // namespace muster::scheduler
