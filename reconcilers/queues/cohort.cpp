#include "reconcilers/queues/cohort.h"

#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/workload.h"
#include "api/workload_conditions.h"
#include "reconcilers/queues/cluster_queue.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/queue_readings.h"
#include "state/cohorts_above.h"
#include "state/scheduler_driver.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const Cohort* cohort = context.state.find<Cohort>(key.name);
  if (cohort == nullptr || cohort->meta.deleting) return plan;
  std::optional<int64_t> share;
  if (!context.queues().fair_sharing.empty())
    share = scheduler::share_of_cohort(context.decisions.scheduler().state(), key.name);
  if (share == cohort->weighted_share) return plan;
  json body = {{"status", {{"fairSharing", nullptr}}}};
  if (share) body["status"]["fairSharing"] = {{"weightedShare", *share}};
  plan.writes.push_back({.verb = Verb::kPatchStatus,
                         .target = key,
                         .body = with_version(cohort->meta, std::move(body)),
                         .rest = kQueueStatusRest});
  return plan;
}

void add_all(const state::ClusterState& state, std::vector<ObjectKey>& keys) {
  state.for_each_of(kCohorts, [&](const TypedObject& cohort) { keys.push_back(key_of(cohort)); });
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (const auto* cohort = std::get_if<CohortPtr>(&object)) {
    keys.push_back(key_of(object));
    if (changes_quota(**cohort, state)) add_all(state, keys);
  } else if (const auto* queue = std::get_if<ClusterQueuePtr>(&object)) {
    if (!(*queue)->cohort.empty() && changes_quota(**queue, state)) add_all(state, keys);
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    if (!(*workload)->status.admission) return;
    const ClusterQueue* holder = state.find<ClusterQueue>((*workload)->status.admission->cluster_queue);
    if (holder == nullptr) return;
    for (std::string& name : state::cohorts_above(*holder, state).names)
      keys.push_back({&kCohorts, "", std::move(name)});
  }
}

template <class Object>
bool is_other_spec(const Object& object, const Object* present) {
  return present == nullptr || present->meta.generation != object.meta.generation ||
         present->meta.uid != object.meta.uid;
}

constexpr const ResourceType* kKinds[] = {&kCohorts};

}  // namespace

bool changes_quota(const Cohort& cohort, const state::ClusterState& state) {
  const Cohort* present = state.find<Cohort>(cohort.meta.name);
  // A Cohort without a share in its status has just been created.
  return is_other_spec(cohort, present) || !present->weighted_share;
}

bool changes_quota(const ClusterQueue& queue, const state::ClusterState& state) {
  const ClusterQueue* present = state.find<ClusterQueue>(queue.meta.name);
  return is_other_spec(queue, present) || find_condition(present->status.conditions, kActiveCondition) == nullptr;
}

const Reconciler cohort_reconciler = {
    .name = "cohort", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
