// waitForPodsReady.blockAdmission: which Workloads keep all others out, and for how long.
// Source: Kueue KEP-349, "Waiting for PodsReady condition".
//
// Whoever has quota and whose pods are not all ready keeps the others out: also one that
// is evicted until its pods have left, and one that has lost a pod. None does so for ever.
// Where a timeout evicts it, that is its end. Where none does (it waits for admission
// checks, it is leaving, or no recoveryTimeout is set) it counts for as long as
// waitForPodsReady.timeout, from the moment at which that state began.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/config/queue_settings.h"
#include "api/meta/object_pointers.h"
#include "base/clock.h"

namespace muster::state {

struct AdmissionBlock {
  TimePoint since;
  std::optional<TimePoint> until{};  // nullopt: until its conditions change

  bool operator==(const AdmissionBlock&) const = default;
};

// nullopt: the Workload blocks no other one.
std::optional<AdmissionBlock> admission_block(const Workload& workload, const WaitForPodsReady& settings);

// The blocks of all Workloads, by "namespace/name". One thread.
class AdmissionBlocks {
 public:
  // A block that is known already keeps its end.
  void put(const std::string& workload, const AdmissionBlock& block, Now now);
  void erase(std::string_view workload);
  // The Workload whose block began first and has not ended; empty: none. Does not search: blocks that have ended leave
  // the order permanently, because `now` never goes back.
  std::string_view first(MonotonicTime now) const;

 private:
  struct Block {
    AdmissionBlock block;
    std::optional<MonotonicTime> until;
  };
  std::map<std::string, Block, std::less<>> blocks_;
  mutable std::set<std::pair<TimePoint, std::string_view>> order_;  // the keys of blocks_
};

}  // namespace muster::state
