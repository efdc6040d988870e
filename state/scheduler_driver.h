// Decisions about quota between the moment they are made and the moment they are read
// from the Workloads: the scheduler, fed with the cluster's objects, and what it has decided that is not written yet.
// It is beside ClusterState, and reads it.
//
// The scheduler assumes its own decisions at once, so a slow API server does not slow
// admission down; reconcilers/workload/admission.cpp writes them. A replica that does not lead
// follows the objects and decides nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/config/queue_settings.h"
#include "base/clock.h"
#include "kinds/typed_object.h"
#include "scheduler/decision_fwd.h"
#include "state/admission_block.h"
#include "state/demand/demand_sources.h"

namespace muster::scheduler {
class NodeCapacity;
class NodeTable;
struct NodeLoads;
class Scheduler;
struct SchedulerSettings;
}  // namespace muster::scheduler

namespace muster::state {

class ClusterState;

// A Workload waits: what its condition QuotaReserved=False shall say.
struct Inadmissible {
  std::string cluster_queue;
  std::string reason;
  std::string message;
  MonotonicTime since;  // since when it has been so
  bool evaluated;       // false: for another one of its shape

  bool operator==(const Inadmissible&) const = default;
};
using PendingDecision = std::variant<scheduler::Admitted, scheduler::Preempted, Inadmissible>;

scheduler::SchedulerSettings scheduler_settings_of(const QueueSettings& settings);

// Room on nodes, by what pods request in this cluster. Both must outlive it.
std::unique_ptr<scheduler::NodeCapacity> node_capacity(scheduler::NodeTable& nodes, const ClusterState& state);

// One thread.
class SchedulerDriver {
 public:
  // What `sources` refers to must outlive it.
  explicit SchedulerDriver(const QueueSettings& settings, DemandSources sources = all_demand_sources());
  // For flavors that count nodes (scheduler/nodes/); both must outlive it.
  SchedulerDriver(const QueueSettings& settings, scheduler::NodeTable& nodes, const ClusterState& state);
  ~SchedulerDriver();
  SchedulerDriver(SchedulerDriver&&) noexcept;
  SchedulerDriver& operator=(SchedulerDriver&&) noexcept;

  // An object has come or changed, or has gone. `state` has it already, or not any more.
  void put(const TypedObject& object, const ClusterState& state, Now now);
  void remove(const TypedObject& object, const ClusterState& state, Now now);

  // What the nodes that it got tell by now. Before decide() and follow().
  void take_nodes(const ClusterState& state, Now now);
  // Decides all that can be decided, or until `enough` Workloads were admitted. Adds the
  // Workloads about which there is something new.
  void decide(Now now, size_t enough, std::vector<ObjectKey>& keys);
  // A write for this key is on its way. If it is a Workload's, the write can carry what is decided: from now on that
  // can only be taken back by another write.
  void sent(const ObjectKey& key, Now now);
  // For a replica that does not lead: keeps the scheduler's numbers true, decides nothing.
  void follow(Now now);
  // What is to be written into this Workload; nullptr: nothing.
  const PendingDecision* pending_decision_on(std::string_view ns, std::string_view workload) const;
  // How long ago an admission was decided that the API server has not accepted yet; nullopt: there is none.
  std::optional<Duration> unwritten_admission(std::string_view ns, std::string_view workload, Now now) const;
  // Whether this key is a Workload's whose admission waits to be written.
  bool admits(const ObjectKey& key) const;
  // The API server refused a status. A Workload's is then as if it had not been decided, and is decided again.
  void refuse(const ObjectKey& key, Now now);
  // Forgets what is not written: for a new leader, and one that lost leadership.
  void forget_unpersisted(Now now);

  // The Workload whose pods must get ready before any other is admitted: with
  // waitForPodsReady.blockAdmission only. Every replica knows.
  std::optional<ObjectKey> blocked_by(Now now) const;

  // How long a Workload has been admitted this time: by the monotonic clock, from the first moment at which this
  // process knew of it; the time before, by the stamp. Never negative.
  Duration admitted_for(const Workload& workload, Now now) const;

  const scheduler::Scheduler& scheduler() const { return *scheduler_; }
  // The time of the next decision without an event; nullopt: only after events.
  std::optional<MonotonicTime> next_wake() const;
  // Nodes for flavors that count them, without what holders of quota take. nullopt: no flavor does, or they are not
  // known.
  std::optional<scheduler::NodeLoads> node_loads() const;
  // Of the requests for which quota is sought.
  DemandSources demand_sources() const { return sources_; }

 private:
  void put_workload(const WorkloadPtr& workload, const ClusterState& state, Now now);
  void put_workloads_affected_by(const TypedObject& object, const ClusterState& state, Now now);
  void put_after_late_names(const ClusterState& state, Now now);
  void put_all(const ClusterState& state, Now now);
  void note_flavor(const TypedObject& object, bool is_there, const ClusterState& state, Now now);
  struct Unpersisted;

  void take(scheduler::Decision decision, Now now, std::vector<ObjectKey>& keys);
  void take(scheduler::Preempted preempted, Now now, std::vector<ObjectKey>& keys);
  void take(scheduler::Pending pending, Now now, std::vector<ObjectKey>& keys);
  bool is_overtaken(const Workload& workload) const;
  void advance(const Workload& workload);
  void drop_void_refusals();
  void note_block(const Workload& workload, Now now);
  void note_admission(const Workload& workload, Now now);

  QueueSettings settings_;
  DemandSources sources_;
  scheduler::NodeTable* nodes_ = nullptr;             // null: nodes are not watched
  scheduler::NodeCapacity* node_capacity_ = nullptr;  // of the scheduler
  std::optional<MonotonicTime> nodes_due_;            // nodes have changed: what waits for them is evaluated then
  MonotonicTime nodes_rest_until_{};
  std::unique_ptr<scheduler::Scheduler> scheduler_;                             // its parts refer to each other
  std::unique_ptr<std::map<std::string, Unpersisted, std::less<>>> decisions_;  // by "ns/name"; never null
  // Also of Workloads whose admission is only decided.
  AdmissionBlocks blocks_;
  struct AdmittedSince {
    std::string uid;
    Timestamp stamp;  // of the condition, which names the admission
    MonotonicTime since;
  };
  std::map<std::string, AdmittedSince, std::less<>> admitted_since_;  // by "ns/name"
  bool revoked_ = false;                                              // an admission, since drain()
  int revocations_left_ = 0;
};

}  // namespace muster::state
