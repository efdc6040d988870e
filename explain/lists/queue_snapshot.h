// All queues and Workloads at one moment, sorted and numbered, for lists that people read: many readers
// share one snapshot, so that 500 of them cost the engine what one does. Immutable once made.
//
// It is made in two steps. take() reads the engine's state, on the engine's thread: it copies pointers
// and numbers. The constructor of QueueSnapshot sorts, on the thread of the reader who needs it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/views/listing.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"

namespace muster::explain {

struct ListedLocalQueue {
  LocalQueuePtr object;
  state::QueueCounts counts;
};
// A job that muster watches, for its labels.
struct ListedJob {
  TypedObject object;
  const ResourceType* type = nullptr;
};
struct QueueListing {
  scheduler::Listing listing;
  std::vector<ListedLocalQueue> local_queues;  // by namespace and name
  std::vector<WorkloadPtr> finished{};         // within the last day, in no order
  std::vector<ListedJob> jobs{};               // those with labels, in no order
  Timestamp at;
  bool leads = false;
  std::string alarm{};  // a sentence that stands above every list: no replica leads; empty: none
  // Plurals of the kinds that were not read: what is not there of them can exist. Empty in muster itself.
  std::set<KindId> unseen{};
  // The webhook records who submits jobs (recordSubmitter).
  bool records_submitters = false;
};
// One thread: that of the state. Linear in the number of Workloads.
QueueListing take_queue_listing(const state::ClusterState& state, const state::SchedulerDriver& decisions, bool leads,
                                Now now);

// A Workload in its place.
struct ListedWorkload {
  enum class Place { kPending, kHolding, kElsewhere, kFinished };
  WorkloadPtr object;
  Place place = Place::kElsewhere;
  bool assumed = false;  // holds quota by a decision that is not written yet
  uint32_t queue = 0;    // index of the ClusterQueue, of kPending and kHolding
  // Of pending ones, from 0: the positions of Kueue's visibility API.
  int32_t position_in_cluster_queue = 0;
  int32_t position_in_local_queue = 0;
};

class QueueSnapshot {
 public:
  explicit QueueSnapshot(QueueListing listed);
  // It points into itself.
  QueueSnapshot(const QueueSnapshot&) = delete;
  QueueSnapshot& operator=(const QueueSnapshot&) = delete;

  Timestamp at() const { return listed_.at; }
  bool leads() const { return listed_.leads; }
  const std::string& alarm() const { return listed_.alarm; }
  // Whether objects of a kind can exist that are not here: "not visible" is never "missing".
  bool hides(const ResourceType& type) const { return listed_.unseen.contains(type.id()); }
  bool records_submitters() const { return listed_.records_submitters; }
  const std::vector<scheduler::ListedClusterQueue>& cluster_queues() const { return listed_.listing.cluster_queues; }
  const std::vector<scheduler::ListedCohort>& cohorts() const { return listed_.listing.cohorts; }
  const std::vector<ListedLocalQueue>& local_queues() const { return listed_.local_queues; }
  std::optional<uint32_t> find_cluster_queue(std::string_view name) const;
  const ListedLocalQueue* find_local_queue(std::string_view ns, std::string_view name) const;

  // By ClusterQueue: first those that hold its quota, the longest first, then the pending ones in the order
  // of the queue. At the end those that are in no ClusterQueue.
  const std::vector<ListedWorkload>& workloads() const { return workloads_; }
  // Those that finished within the last day, the latest first; they are not among workloads().
  const std::vector<ListedWorkload>& finished() const { return finished_; }
  // The job that controls a Workload; nullptr: it has none, or it is not known, or has no labels.
  const ListedJob* job_of(const Workload& workload) const;
  // The kinds of all known jobs.
  const std::map<KindId, const ResourceType*>& job_types() const { return job_types_; }
  // Indices into workloads(), in its order.
  using Rows = std::vector<uint32_t>;
  const Rows& of_namespace(std::string_view ns) const;
  // Of one LocalQueue: all, and the pending ones.
  const Rows& of_local_queue(std::string_view ns, std::string_view name) const;
  const Rows& pending_of_local_queue(std::string_view ns, std::string_view name) const;
  // Of a ClusterQueue: [first, first_pending) hold quota, [first_pending, end) are pending.
  struct Range {
    uint32_t first = 0, first_pending = 0, end = 0;
  };
  const Range& of_cluster_queue(uint32_t queue) const { return ranges_[queue]; }

 private:
  using Index = std::map<std::string, Rows, std::less<>>;
  static const Rows& rows_of(const Index& index, std::string_view key);
  void add_queue(uint32_t queue);
  // What a ClusterQueue names can exist and be unseen: then the queue is not inactive for that.
  void forget_unseen(scheduler::ListedClusterQueue& queue) const;
  void add(ListedWorkload workload);

  QueueListing listed_;
  std::vector<ListedWorkload> workloads_, finished_;
  std::unordered_map<std::string_view, const ListedJob*> jobs_;  // by uid, of listed_
  std::map<KindId, const ResourceType*> job_types_;
  std::vector<Range> ranges_;  // by ClusterQueue
  Index by_namespace_;
  Index by_local_queue_, pending_;  // by "namespace/name"
};

}  // namespace muster::explain
