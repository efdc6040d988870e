// The result of an evaluation without admission, with its numbers. The reasons are those of Kueue's QuotaReserved=False
// condition.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/object_pointers.h"
#include "api/meta/time.h"
#include "base/clock.h"
#include "scheduler/quota/names.h"

namespace muster::scheduler {

struct Shortage;

enum class AttemptResult {
  kNoFit,                // no flavor can hold it
  kPreemptNoCandidates,  // quota would suffice after preemption, but no Workload can be preempted
  kPreempting,           // evictions are issued, or awaited
  kSkipped,              // an earlier Workload of the cycle took the quota or the victims
  kDeferredFit,          // will fit once the evictions for another Workload are through
  kAwaitingReady,        // fits, but the pods of another Workload must get ready first
  kInvalid               // refused before flavors were evaluated
};
// "noFit", "preemptNoCandidates", ...
std::string_view to_text(AttemptResult outcome);

// Where a Workload went after its evaluation.
enum class QueuePosition { kActive, kInadmissible, kNowhere };
std::string_view to_text(QueuePosition requeued);

// Ordered by severity.
enum class PendingReason {
  kNone,
  kWaitingForQuota,
  kWaitingForProtectedWorkloads,
  kExceedsMaxQuota,
  kNoMatchingFlavor,
  kWaitingForPreemptedWorkloads,
  kWaitingForPodsReady,
  kMisconfigured,
  kPendingEvaluation
};
// "WaitingForQuota", ...
std::string_view to_text(PendingReason reason);

// Why one flavor does not fit for one resource of one pod set.
struct FlavorRejection {
  enum class Kind {
    kNotCovered,     // the ClusterQueue has no such resource
    kFlavorMissing,  // no such ResourceFlavor
    kTaint,          // `detail`: the taint
    kAffinity,
    kFailed,      // it has failed for the Workload (flavor fallback)
    kNoTopology,  // the pods ask for a place in a topology, and the flavor has none
    kNoNodes,     // the flavor counts nodes, and muster does not watch them
    kNoFlavor,    // they ask for a place in a topology, and they ask for no resource that a flavor could hold
    kExceedsMax,  // more than the ClusterQueue could ever have
    kNoneUnused,  // more than is unused
    kShortage,    // of a further capacity: `shortage`
    kPinned       // flavors were decided earlier in the cycle
  };

  Kind kind = Kind::kNotCovered;
  FlavorId flavor = 0;
  ResourceId resource = 0;
  QuotaId quota = 0;      // of kinds that compare amounts
  int64_t requested = 0;  // by this pod set
  int64_t earlier = 0;    // by the pod sets before it
  int64_t limit = 0;      // available: unused quota, or the maximum
  std::string detail{};
  std::shared_ptr<const Shortage> shortage{};
};

struct PodSetObstacles {
  uint32_t pod_set;  // index
  std::vector<FlavorRejection> obstacles;
};

// The last evaluation of a Workload. Its message is built only when a reader needs it.
struct LastAttempt {
  AttemptResult outcome = AttemptResult::kNoFit;
  PendingReason reason = PendingReason::kNone;
  QueuePosition requeued = QueuePosition::kNowhere;
  std::string invalid{};  // of kInvalid: why
  size_t victims = 0;     // evictions that it waits for
  std::string awaited{};  // of kAwaitingReady: "namespace/name" of the Workload whose pods must get ready
  uint64_t cycle = 0;     // of kAwaitingReady: the cycle in which the wait began
  // Of kWaitingForProtectedWorkloads: when the first of them can be preempted, by both clocks.
  std::optional<MonotonicTime> protected_until{};
  Timestamp protected_until_stamp{};
  std::vector<PodSetObstacles> pod_sets{};
};

// Of the first shortage beside quota: what would have to change. Without numbers. Empty: there is none.
std::string_view change_that_helps(const LastAttempt& refusal);
// "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 2 more needed"
std::string to_message(const QuotaIdTable& names, const Workload& workload, const LastAttempt& refusal);

}  // namespace muster::scheduler
