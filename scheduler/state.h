// The account of the scheduler: all Workloads, queues and flavors, with names turned into integers and pointers. Flavor
// assignment, preemption and the cycle share it; what only reads (explain_pending, listing_of, readings_of) gets it
// const. Owned by the Scheduler, used by one thread; pointers stay valid while the object exists.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/config/queue_settings.h"
#include "api/meta/selectors.h"
#include "api/preemption_protection.h"
#include "base/clock.h"
#include "scheduler/capacity/capacity.h"
#include "scheduler/queue_state.h"
#include "scheduler/quota/ledger.h"
#include "scheduler/quota/names.h"
#include "scheduler/workload_state.h"

namespace muster::scheduler {

struct FlavorState {
  ResourceFlavorPtr object;  // null: missing
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
  // muster's watchNodes. Off: no Workload gets a flavor with the annotation muster.batch/fit-on-nodes.
  bool watches_nodes = false;
  // The gate ReclaimablePods: completed pods release their quota (status.reclaimablePods).
  bool reclaims = true;
};

struct SchedulerState {
  SchedulerSettings settings;
  QuotaIdTable names;
  Capacity capacity;
  const Ledger& ledger = capacity.quota();  // to read
  std::vector<FlavorState> flavors;         // by FlavorId
  std::vector<QueueState*> node_queue;      // by NodeId; null for Cohorts
  ResourceId pods = 0;                      // the resource "pods"

  // QueueTable adds and drops queues, WorkloadTable Workloads; the keys of the last two are "namespace/name".
  std::map<std::string, std::unique_ptr<QueueState>> queues{};
  std::unordered_map<std::string, std::unique_ptr<LocalQueueState>> local_queues{};
  std::unordered_map<std::string, std::unique_ptr<WorkloadState>> workloads{};
  std::map<std::string, Labels> namespaces{};
  std::map<std::string, bool> checks{};  // AdmissionChecks: whether they are active
  // Protection of WorkloadPriorityClasses, by name.
  std::map<std::string, PreemptionProtection> class_protection{};

  std::set<ProtectionEnd> protection_ends{};  // see await_protection_end()
  uint64_t cycle = 0;
  std::string awaited{};  // see Scheduler::await_ready()
  // The Workload that is being evaluated; read after an exception.
  const WorkloadState* subject = nullptr;

  explicit SchedulerState(SchedulerSettings given, FurtherCapacities further = {})
      : settings(std::move(given)), capacity(names, std::move(further)), pods(names.resource("pods")) {}
  bool fair() const { return !settings.fair_sharing.empty(); }
  const ResourceFlavor* flavor(FlavorId id) const { return id < flavors.size() ? flavors[id].object.get() : nullptr; }
  QueueState* queue_at(NodeId node) const { return node_queue[node]; }
  // Null: unknown.
  WorkloadState* find_workload(const std::string& ns, const std::string& name) const;
};

// During a simulation: these Workloads hold nothing and are no candidates. End it before the
// Capacity::Simulation that it runs in.
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

}  // namespace muster::scheduler
