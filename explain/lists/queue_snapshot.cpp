#include "explain/lists/queue_snapshot.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/workload_conditions.h"
#include "explain/lists/workload_state.h"
#include "jobs/job_kind.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/listing.h"

namespace muster::explain {
namespace {

Timestamp reserved_since(const Workload& workload) {
  const Condition* reserved = find_condition(workload.status.conditions, kQuotaReservedCondition);
  return reserved == nullptr ? Timestamp{} : reserved->last_transition;
}

// Seconds: a day.
constexpr int64_t kListedAfterTheEnd = 86'400;

bool ended_later(const ListedWorkload& a, const ListedWorkload& b) {
  const Timestamp left = finished_at(*a.object), right = finished_at(*b.object);
  if (left != right) return right < left;
  const ObjectMeta &first = a.object->meta, &second = b.object->meta;
  return std::tie(first.ns, first.name) < std::tie(second.ns, second.name);
}

// Workloads whose reservation is not written yet come last.
bool holds_longer(const scheduler::HolderEntry& a, const scheduler::HolderEntry& b) {
  if (a.assumed != b.assumed) return b.assumed;
  const Timestamp left = reserved_since(*a.object), right = reserved_since(*b.object);
  const ObjectMeta &first = a.object->meta, &second = b.object->meta;
  return std::tie(left, first.ns, first.name) < std::tie(right, second.ns, second.name);
}

}  // namespace

QueueListing take_queue_listing(const state::ClusterState& state, const state::SchedulerDriver& decisions, bool leads,
                                Now now) {
  QueueListing taken;
  taken.listing = scheduler::listing_of(decisions.scheduler().state());
  state.for_each_of(kLocalQueues, [&](const TypedObject& object) {
    const LocalQueuePtr& queue = std::get<LocalQueuePtr>(object);
    taken.local_queues.push_back({queue, state.queue_counts().of_local_queue(queue->meta.ns, queue->meta.name)});
  });
  taken.at = to_timestamp(now.wall);
  // select() sorts what is wanted, and the readers' thread has the time for that.
  state.select(kWorkloads, [&](const TypedObject& object) {
    const WorkloadPtr& workload = std::get<WorkloadPtr>(object);
    if (workload->finished() && taken.at.seconds - finished_at(*workload).seconds <= kListedAfterTheEnd)
      taken.finished.push_back(workload);
    return false;
  });
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    state.select(kind->type, [&](const TypedObject& object) {
      if (!meta_of(object).labels.empty()) taken.jobs.push_back({object, &kind->type});
      return false;
    });
  }
  taken.leads = leads;
  return taken;
}

QueueSnapshot::QueueSnapshot(QueueListing listed) : listed_(std::move(listed)) {
  size_t count = listed_.listing.elsewhere.size();
  for (const scheduler::ListedClusterQueue& queue : cluster_queues())
    count += queue.pending.size() + queue.holders.size();
  workloads_.reserve(count);
  ranges_.reserve(cluster_queues().size());
  for (uint32_t queue = 0; queue < cluster_queues().size(); ++queue) {
    forget_unseen(listed_.listing.cluster_queues[queue]);
    add_queue(queue);
  }
  std::vector<WorkloadPtr>& elsewhere = listed_.listing.elsewhere;
  std::sort(elsewhere.begin(), elsewhere.end(), [](const WorkloadPtr& a, const WorkloadPtr& b) {
    return std::tie(a->meta.ns, a->meta.name) < std::tie(b->meta.ns, b->meta.name);
  });
  for (const WorkloadPtr& workload : elsewhere) add({.object = workload});
  for (const WorkloadPtr& workload : listed_.finished)
    finished_.push_back({.object = workload, .place = ListedWorkload::Place::kFinished});
  std::sort(finished_.begin(), finished_.end(), ended_later);
  jobs_.reserve(listed_.jobs.size());
  for (const ListedJob& job : listed_.jobs) {
    jobs_.emplace(meta_of(job.object).uid, &job);
    job_types_.emplace(job.type->id(), job.type);
  }
}

const ListedJob* QueueSnapshot::job_of(const Workload& workload) const {
  if (!workload.meta.controller) return nullptr;
  const auto found = jobs_.find(workload.meta.controller->uid);
  if (found == jobs_.end() || meta_of(found->second->object).ns != workload.meta.ns) return nullptr;
  return found->second;
}

void QueueSnapshot::forget_unseen(scheduler::ListedClusterQueue& queue) const {
  std::string unseen;
  if (hides(kResourceFlavors) && !flavors_of(*queue.object).empty()) unseen = kResourceFlavors.plural;
  if (hides(kAdmissionChecks) && !queue.object->admission_checks.empty())
    unseen += (unseen.empty() ? "" : ", ") + std::string(kAdmissionChecks.plural);
  if (unseen.empty() || queue.object->meta.deleting) return;
  const bool stopped = queue.inactive_reason == kStoppedReason;
  if (!stopped) queue.inactive_reason = kStateNotVisibleReason;
  queue.inactive_message = stopped ? "is stopped" : "you cannot list " + unseen;
}

void QueueSnapshot::add_queue(uint32_t queue) {
  scheduler::ListedClusterQueue& listed = listed_.listing.cluster_queues[queue];
  std::sort(listed.pending.begin(), listed.pending.end(), scheduler::comes_before);
  std::sort(listed.holders.begin(), listed.holders.end(), holds_longer);
  Range range{.first = static_cast<uint32_t>(workloads_.size())};
  for (const scheduler::HolderEntry& holder : listed.holders) {
    add({.object = holder.object, .place = ListedWorkload::Place::kHolding, .assumed = holder.assumed, .queue = queue});
  }
  range.first_pending = static_cast<uint32_t>(workloads_.size());
  int32_t position = 0;
  for (const scheduler::PendingEntry& entry : listed.pending) {
    add({.object = entry.object,
         .place = ListedWorkload::Place::kPending,
         .queue = queue,
         .position_in_cluster_queue = position++});
  }
  range.end = static_cast<uint32_t>(workloads_.size());
  ranges_.push_back(range);
}

void QueueSnapshot::add(ListedWorkload workload) {
  const auto row = static_cast<uint32_t>(workloads_.size());
  const ObjectMeta& meta = workload.object->meta;
  by_namespace_[meta.ns].push_back(row);
  const std::string local_queue = path_of(meta.ns, workload.object->queue_name);
  by_local_queue_[local_queue].push_back(row);
  if (workload.place == ListedWorkload::Place::kPending) {
    Rows& pending = pending_[local_queue];
    workload.position_in_local_queue = static_cast<int32_t>(pending.size());
    pending.push_back(row);
  }
  workloads_.push_back(std::move(workload));
}

std::optional<uint32_t> QueueSnapshot::find_cluster_queue(std::string_view name) const {
  const auto& all = cluster_queues();
  const auto found = std::lower_bound(all.begin(), all.end(), name,
                                      [](const scheduler::ListedClusterQueue& queue, std::string_view wanted) {
                                        return queue.object->meta.name < wanted;
                                      });
  if (found == all.end() || found->object->meta.name != name) return std::nullopt;
  return static_cast<uint32_t>(found - all.begin());
}

const ListedLocalQueue* QueueSnapshot::find_local_queue(std::string_view ns, std::string_view name) const {
  const auto& all = local_queues();
  const auto found = std::lower_bound(
      all.begin(), all.end(), std::pair(ns, name), [](const ListedLocalQueue& queue, const auto& wanted) {
        const ObjectMeta& meta = queue.object->meta;
        return std::pair<std::string_view, std::string_view>(meta.ns, meta.name) < wanted;
      });
  if (found == all.end() || found->object->meta.ns != ns || found->object->meta.name != name) return nullptr;
  return &*found;
}

const QueueSnapshot::Rows& QueueSnapshot::rows_of(const Index& index, std::string_view key) {
  static const Rows none;
  const auto found = index.find(key);
  return found == index.end() ? none : found->second;
}

const QueueSnapshot::Rows& QueueSnapshot::of_namespace(std::string_view ns) const {
  return rows_of(by_namespace_, ns);
}

const QueueSnapshot::Rows& QueueSnapshot::of_local_queue(std::string_view ns, std::string_view name) const {
  return rows_of(by_local_queue_, path_of(ns, name));
}

const QueueSnapshot::Rows& QueueSnapshot::pending_of_local_queue(std::string_view ns, std::string_view name) const {
  return rows_of(pending_, path_of(ns, name));
}

}  // namespace muster::explain
