// The scheduler's data about Workloads, ClusterQueues and flavors, with names turned into integers and pointers: the
// state that flavor assignment, preemption and the cycle share. Owned by the Scheduler, used by one thread; pointers
// stay valid while the object exists.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/cluster_queue.h"
#include "api/config/queue_settings.h"
#include "api/preemption_protection.h"
#include "api/workload.h"
#include "base/clock.h"
#include "scheduler/outcome.h"
#include "scheduler/pending_queue.h"
#include "scheduler/quota/ledger.h"
#include "scheduler/quota/names.h"
#include "scheduler/shape.h"

namespace muster {

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
  enum class Place {
    kNowhere,  // finished, inactive, or in no queue
    kQueued,   // competes or is parked: PendingQueue::competes()
    kHeld,     // parked, and no release of quota can help
    kReserved  // holds quota
  };

  // Counts the Workloads in the order in which the scheduler first saw them. Results that must be equal in every run
  // use this number, not an address.
  uint64_t sequence = 0;
  WorkloadPtr object;
  std::vector<PodSetState> pod_sets;
  Place place = Place::kNowhere;
  QueueState* queue = nullptr;  // that it waits in or holds quota of
  LocalQueueState* local_queue = nullptr;
  size_t index_in_local_queue = 0;
  int32_t rank = 0;        // its priority
  Timestamp queued_since;  // its order among Workloads of equal priority
  Shape shape{};
  std::vector<FlavorId> failed;  // flavors of its queue that it does not try again; sorted

  // While it is pending.
  uint8_t side = 0;      // of its group in PendingQueue
  Timestamp held_until;  // while kHeld
  ScanProgress progress;
  std::unique_ptr<LastAttempt> refusal;  // of its last evaluation
  std::string misconfigured;             // why it cannot be admitted at all
  bool has_claim = false;                // see kEvictionsBeforeClaim
  // Since it was first refused because Workloads that it could preempt are protected.
  std::optional<MonotonicTime> awaits_protected_since{};

  // While it holds quota.
  Amounts usage;
  std::vector<QuotaId> used_quotas;  // also those with zero usage
  Timestamp reserved_at;
  // Since when it has been admitted, by its condition Admitted=True: the timestamp, and the same by the monotonic
  // clock. nullopt: its admission checks are pending, so it has not run.
  std::optional<MonotonicTime> started_at{};
  Timestamp started_stamp{};
  // Its class at that time, which decides how long it is protected: the class can change while a job runs.
  std::optional<PriorityClassRef> started_class{};
  size_t index_in_queue = 0;
  bool evicting = false;
  bool assumed = false;           // admitted by a decision that the object does not show yet
  bool assumed_eviction = false;  // the same for evicting
  bool taken_away = false;        // by a simulation
  bool can_be_stopped = true;     // otherwise it is no candidate for preemption
  std::vector<Eviction> evictions;

  int32_t priority() const { return rank; }
  bool has_failed(FlavorId flavor) const;
  bool in_queue() const { return place == Place::kQueued || place == Place::kHeld; }
};

struct FlavorState {
  ResourceFlavorPtr object;  // null: missing
};

struct QueueGroup {
  std::vector<ResourceId> resources;
  std::vector<FlavorId> flavors;  // in the order in which they are tried

  bool covers(ResourceId resource) const;
};

struct QueueState {
  std::string name;
  ClusterQueuePtr object;  // null: only named by others
  NodeId node = kNoNode;
  std::vector<QueueGroup> groups;
  bool covers_pods = false;
  bool active = false;
  PendingQueue pending;
  std::vector<WorkloadState*> reserved;
  std::vector<LocalQueueState*> local_queues;
  // Counts events that can have released quota: flavor scans that stopped before one start again.
  uint64_t generation = 1;
  // A reservation or release here, which can change the effect of evictions.
  bool moved = false;
  // See await_protection_end().
  std::optional<MonotonicTime> protection_end{};

  const QueueGroup* group_of(ResourceId resource) const;
  bool preempts() const;
  bool strict() const { return object->queueing_strategy == QueueingStrategy::kStrictFifo; }
};

struct LocalQueueState {
  std::string key;       // "namespace/name"
  LocalQueuePtr object;  // null: only named by Workloads
  QueueState* queue = nullptr;
  std::vector<WorkloadState*> workloads;  // all unfinished ones that name it
};

// A fixed order of queues where the order has no meaning, so that every run is equal.
struct ByName {
  bool operator()(const QueueState* a, const QueueState* b) const { return a->name < b->name; }
  bool operator()(const LocalQueueState* a, const LocalQueueState* b) const { return a->key < b->key; }
};

// The end of a protection from preemption for which Workloads of a queue wait.
struct ProtectionEnd {
  MonotonicTime time;
  QueueState* queue;

  bool operator<(const ProtectionEnd& other) const {
    return time != other.time ? time < other.time : queue->name < other.queue->name;
  }
};

struct SchedulerSettings {
  // Empty: classic ordering and preemption.
  std::vector<FairStrategy> fair_sharing{};
  // Whether a Workload that was evicted because its pods were not ready queues by the
  // time of that (else by its creation).
  bool order_by_eviction = true;
  // resources.quotaCheckStrategy: resources that a ClusterQueue does not cover are not counted
  // instead of refused.
  bool ignore_undeclared_resources = false;
  // waitForPodsReady.blockAdmission: each admission blocks all others until the next
  // Scheduler::await_ready().
  bool one_by_one = false;
  // The gate TopologyAwareScheduling: pods that request a topology get no flavor without a topology. Off: the request
  // is ignored, as in Kueue.
  bool topology_requests = true;
  // The gate ReclaimablePods: completed pods release their quota (status.reclaimablePods).
  bool reclaims = true;
};

struct SchedulerState {
  SchedulerSettings settings;
  QuotaIdTable names;
  Ledger ledger{names};
  std::vector<FlavorState> flavors;     // by FlavorId
  std::vector<QueueState*> node_queue;  // by NodeId; null for Cohorts
  ResourceId pods = 0;                  // the resource "pods"
  // Protection of WorkloadPriorityClasses, by name.
  std::map<std::string, PreemptionProtection> class_protection{};
  std::set<ProtectionEnd> protection_ends{};  // see await_protection_end()
  uint64_t cycle = 0;
  std::string awaited{};  // see Scheduler::await_ready()
  // The Workload that is being evaluated; read after an exception.
  const WorkloadState* subject = nullptr;

  explicit SchedulerState(SchedulerSettings given) : settings(std::move(given)), pods(names.resource("pods")) {}
  bool fair() const { return !settings.fair_sharing.empty(); }
  const ResourceFlavor* flavor(FlavorId id) const { return id < flavors.size() ? flavors[id].object.get() : nullptr; }
  QueueState* queue_at(NodeId node) const { return node_queue[node]; }
};

// During a simulation: these Workloads hold no quota and are no candidates. End it before the Ledger::Simulation that
// it runs in.
class SimulatedRemoval {
 public:
  explicit SimulatedRemoval(SchedulerState& state) : state_(state) {}
  ~SimulatedRemoval();
  SimulatedRemoval(const SimulatedRemoval&) = delete;
  SimulatedRemoval& operator=(const SimulatedRemoval&) = delete;
  void take(WorkloadState& workload);

 private:
  SchedulerState& state_;
  std::vector<WorkloadState*> taken_;
};

// Whether `a` comes before `b` in a queue.
bool queued_before(const WorkloadState& a, const WorkloadState& b);

}  // namespace muster
