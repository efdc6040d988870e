// waitForPodsReady.blockAdmission: which Workloads keep all others out, and for how long.
// Source: Kueue KEP-349, "Waiting for PodsReady condition".
//
// Whoever has quota and whose pods are not all ready keeps the others out: also one that
// is evicted until its pods have left, and one that has lost a pod. None does so for ever.
// Where a timeout evicts it, that is its end. Where none does (it waits for admission
// checks, it is leaving, or no recoveryTimeout is set) it counts for as long as
// waitForPodsReady.timeout, from the moment at which that state began.
#pragma once

#include <optional>

#include "api/config/queue_settings.h"
#include "api/workload.h"
#include "base/clock.h"

namespace muster {

struct AdmissionBlock {
  TimePoint since;
  std::optional<TimePoint> until{};  // nullopt: until its conditions change

  bool operator==(const AdmissionBlock&) const = default;
};

// nullopt: the Workload keeps nobody out.
std::optional<AdmissionBlock> admission_block(const Workload& workload, const WaitForPodsReady& settings);

}  // namespace muster
