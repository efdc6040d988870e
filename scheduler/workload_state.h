// What the scheduler knows of one unfinished Workload: the part that is always valid, and one part that depends on
// where the Workload is. Owned by SchedulerState, used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"
#include "scheduler/capacity/claim.h"
#include "scheduler/outcome.h"
#include "scheduler/quota/names.h"
#include "scheduler/shape.h"

namespace muster::scheduler {

struct QueueState;
struct LocalQueueState;

struct ResourceAmount {
  ResourceId resource;
  int64_t amount;
};

struct PodSetState {
  int32_t count = 0;                    // without pods that have released their quota
  std::vector<ResourceAmount> per_pod;  // by QuotaIdTable::visiting_order
};

// Where the flavor scan of a pod set's resource stopped; it continues there at the next attempt, unless quota has
// changed since. Kept in memory only.
struct ScanProgress {
  static constexpr int kFinished = -1;
  struct Position {
    uint32_t pod_set;
    ResourceId resource;
    int flavor;  // index of the last one tried, or kFinished
  };
  std::vector<Position> positions;
  uint64_t generation = 0;
  uint64_t cycle = 0;
  Shape shape{};

  bool pending() const;
  int next_flavor(uint32_t pod_set, ResourceId resource) const;
  bool operator==(const ScanProgress&) const;
};

struct Eviction {
  std::string preemptor_uid;
  int count = 0;
  Timestamp last;
};

struct WorkloadState {
  // It is in the PendingQueue of its ClusterQueue, which writes the first three fields.
  struct Waiting {
    enum class Place {
      kOutside,   // between two places: PendingQueue::remove() was called
      kQueued,    // competes or is parked: PendingQueue::competes()
      kHeldBack,  // parked, and no release of quota can help
    };
    Place place = Place::kOutside;
    uint8_t side = 0;                      // of its group in PendingQueue; while kQueued
    Timestamp held_until{};                // while kHeldBack
    std::unique_ptr<LastAttempt> refusal;  // of its last evaluation; null: none since it entered the queue
    // Since it was first refused because Workloads that it could preempt are protected.
    std::optional<MonotonicTime> awaits_protected_since{};
  };

  // It holds quota, in the ledger and in the list of its ClusterQueue: reserve() and release() (reservation.h).
  struct Holding {
    Claim claim;
    std::vector<QuotaId> used_quotas;  // also those with zero usage
    Timestamp reserved_at;
    size_t index_in_queue = 0;  // in QueueState::reserved
    // Since when it has been admitted, by its condition Admitted=True. nullopt: its admission checks are pending, so it
    // has not run.
    struct Start {
      MonotonicTime at;   // by the monotonic clock
      Timestamp stamp{};  // as the condition says; zero: it is not written yet
      // Its class at that time, which decides how long it is protected: the class can change while a job runs.
      std::optional<PriorityClassRef> priority_class{};
    };
    std::optional<Start> start{};
    bool evicting = false;
    bool assumed = false;           // admitted by a decision that the object does not show yet
    bool assumed_eviction = false;  // the same for evicting
    bool taken_away = false;        // by a simulation
  };

  // Counts the Workloads in the order in which the scheduler first saw them. Results that must be equal in every run
  // use this number, not an address.
  uint64_t sequence = 0;
  WorkloadPtr object;
  std::vector<PodSetState> pod_sets;
  LocalQueueState* local_queue = nullptr;  // that it names
  size_t index_in_local_queue = 0;
  std::string misconfigured;   // why it cannot be admitted at all; empty: it can
  bool can_be_stopped = true;  // otherwise it is no candidate for preemption

  // Finished, inactive, in no queue: neither. Change it by PendingQueue, reserve(), release() and WorkloadTable.
  std::variant<std::monostate, Waiting, Holding> phase;
  QueueState* queue = nullptr;  // that it waits in or holds quota of

  // Of its queue, read from the object when it enters.
  int32_t rank = 0;        // its priority
  Timestamp queued_since;  // its order among Workloads of equal priority
  Shape shape{};
  std::vector<FlavorId> failed;  // flavors of its queue that it does not try again; sorted

  // Memory of earlier attempts: it survives a change of the queue, and ends with an admission.
  ScanProgress progress;
  bool has_claim = false;  // see kEvictionsBeforeClaim
  // Memory of earlier admissions: who evicted it, and how often.
  std::vector<Eviction> evictions;

  int32_t priority() const { return rank; }
  bool has_failed(FlavorId flavor) const;
  bool in_queue() const {
    const auto* waits = std::get_if<Waiting>(&phase);
    return waits != nullptr && waits->place != Waiting::Place::kOutside;
  }
  bool is_held_back() const {
    const auto* waits = std::get_if<Waiting>(&phase);
    return waits != nullptr && waits->place == Waiting::Place::kHeldBack;
  }
  bool holds_quota() const { return std::holds_alternative<Holding>(phase); }
  // Only in that phase.
  Waiting& waiting() { return std::get<Waiting>(phase); }
  const Waiting& waiting() const { return std::get<Waiting>(phase); }
  Holding& holding() { return std::get<Holding>(phase); }
  const Holding& holding() const { return std::get<Holding>(phase); }
};

// Whether `a` comes before `b` in a queue.
bool queued_before(const WorkloadState& a, const WorkloadState& b);

}  // namespace muster::scheduler
