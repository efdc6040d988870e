// The part that is the same in all courses.
#include <algorithm>
#include <map>

#include "api/pods/limit_range.h"
#include "api/workload_conditions.h"
#include "forecast/starts/start_course.h"
#include "scheduler/eligibility.h"

namespace muster::starts {
namespace {

// 0 if it is not set.
double seconds_since(Timestamp then, TimePoint now) {
  if (then.is_zero()) return 0;
  return std::max(0.0, std::chrono::duration<double>(time_between(to_time_point(then), now)).count());
}

}  // namespace

PreparedScene::PreparedScene(const StartScene& scene, const QueueHistory& history, const QueueSettings& settings)
    : scene_(scene),
      run_times_(history.run_times),
      settings_(settings),
      scheduler_settings_(state::scheduler_settings_of(settings)),
      defaults_(settings) {
  // Pods are taken to get ready at once.
  scheduler_settings_.one_by_one = false;
  for (const TypedObject& object : scene.objects) {
    if (std::holds_alternative<LimitRangePtr>(object) || std::holds_alternative<RuntimeClassPtr>(object))
      defaults_.put_watched(object);
  }
  for (const scheduler::ListedCohort& cohort : scene.listing.cohorts) parents_.emplace(cohort.name, cohort.parent);
  for (const scheduler::ListedClusterQueue& queue : scene.listing.cluster_queues) {
    if (queue.object == nullptr) continue;
    for (const scheduler::HolderEntry& holder : queue.holders) add(queue, holder.object, !holder.assumed);
    std::vector<const scheduler::PendingEntry*> pending;
    for (const scheduler::PendingEntry& entry : queue.pending) pending.push_back(&entry);
    std::sort(pending.begin(), pending.end(),
              [](const auto* a, const auto* b) { return scheduler::comes_before(*a, *b); });
    for (const scheduler::PendingEntry* entry : pending) add(queue, entry->object, false);
  }
  add_streams(history.arrivals);
}

void PreparedScene::add_streams(const ArrivalRates& arrivals) {
  std::map<std::pair<std::string, std::string>, std::string> cluster_queues;
  for (const TypedObject& object : scene_.objects) {
    if (const auto* local = std::get_if<LocalQueuePtr>(&object))
      cluster_queues.emplace(std::pair((*local)->meta.ns, (*local)->meta.name), (*local)->cluster_queue);
  }
  std::map<std::string, uint32_t> trees;
  for (const scheduler::ListedClusterQueue& queue : scene_.listing.cluster_queues) {
    if (queue.object != nullptr) trees.emplace(queue.object->meta.name, tree_of(queue));
  }
  std::vector<bool> waits(trees_);
  for (const Member& member : members_) {
    if (!member.holds) waits[member.tree] = true;
  }
  for (ArrivalRates::Stream& stream : arrivals.streams(to_timestamp(scene_.now.wall))) {
    const auto queue = cluster_queues.find({stream.example->meta.ns, stream.example->queue_name});
    if (queue == cluster_queues.end()) continue;
    const auto tree = trees.find(queue->second);
    if (tree == trees.end() || !waits[tree->second]) continue;
    // Workloads that never end would take all quota.
    const RunTimeGuess run_time = run_times_.guess(*stream.example, queue->second, std::nullopt);
    if (run_time.source == RunTimeSource::kUnknown) continue;
    streams_.push_back({.example = stream.example,
                        .demand = state::quota_demand_of(*stream.example, defaults_, settings_),
                        .run_time = run_time,
                        .per_second = stream.per_second});
  }
}

uint32_t PreparedScene::tree_of(const scheduler::ListedClusterQueue& queue) {
  std::string root = queue.cohort.empty() ? "queue/" + queue.object->meta.name : queue.cohort;
  // Cohorts can form a cycle; then no Workload is admitted in it.
  for (size_t i = 0; i < parents_.size(); ++i) {
    const auto parent = parents_.find(root);
    if (parent == parents_.end() || parent->second.empty()) break;
    root = parent->second;
  }
  const auto [known, is_new] = tree_ids_.try_emplace(root, static_cast<uint32_t>(trees_));
  if (is_new) ++trees_;
  return known->second;
}

void PreparedScene::add(const scheduler::ListedClusterQueue& queue, const WorkloadPtr& workload, bool holds) {
  Member member{.workload = workload, .demand = {}, .run_time = {}, .tree = tree_of(queue), .holds = holds};
  member.stopped = !queue.inactive_reason.empty();
  const auto annotated = scene_.annotated.find(workload->meta.uid);
  member.run_time =
      run_times_.guess(*workload, queue.object->meta.name,
                       annotated == scene_.annotated.end() ? std::nullopt : std::optional(annotated->second));
  member.demand = state::quota_demand_of(*workload, defaults_, settings_);
  const TimePoint now = scene_.now.wall;
  if (holds) {
    member.leaves = workload->evicted() || !workload->active || workload->meta.deleting;
    const Condition* admitted = find_condition(workload->status.conditions, kAdmittedCondition);
    if (admitted != nullptr && admitted->is_true()) member.gone = seconds_since(admitted->last_transition, now);
  } else if (const auto& requeue = workload->status.requeue_state; requeue && !requeue->requeue_at.is_zero()) {
    member.comes_after = std::max<int64_t>(0, time_between(now, to_time_point(requeue->requeue_at)).count());
    if (member.comes_after > 0) member.workload = as_waiting(*workload);
  }
  members_.push_back(std::move(member));
}

// Its conditions do not contain the earlier reason for its wait.
WorkloadPtr PreparedScene::as_waiting(const Workload& workload) {
  Workload waiting = workload;
  waiting.status.admission.reset();
  waiting.status.requeue_state.reset();
  waiting.status.admission_checks.clear();
  std::erase_if(waiting.status.conditions, [](const Condition& condition) {
    return condition.type == kQuotaReservedCondition || condition.type == kAdmittedCondition ||
           condition.type == kRequeuedCondition || condition.type == kPodsReadyCondition;
  });
  return std::make_shared<const Workload>(std::move(waiting));
}

const PreparedScene::Member& PreparedScene::release(uint32_t index) const {
  Member& member = members_[index];
  if (member.released == nullptr) {
    member.released = as_waiting(*member.workload);
    member.demand = state::quota_demand_of(*member.released, defaults_, settings_);
  }
  return member;
}

}  // namespace muster::starts
