#include "forecast/starts/start_scene.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "api/workload_conditions.h"
#include "jobs/job_kind.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/listing.h"

namespace muster::starts {
namespace {

// The Workload's own annotation, otherwise its job's annotation.
std::optional<double> annotated(const Workload& workload, const state::ClusterState& state,
                                const QueueSettings& settings) {
  if (const auto seconds = annotated_seconds(workload.meta.annotations)) return seconds;
  const auto& owner = workload.meta.controller;
  const jobs::JobKind* kind = owner ? jobs::find_owner_kind(*owner, settings.rules) : nullptr;
  const TypedObject* job = kind == nullptr ? nullptr : state.find(kind->type, workload.meta.ns, owner->name);
  if (job == nullptr || meta_of(*job).uid != owner->uid) return std::nullopt;
  return annotated_seconds(meta_of(*job).annotations);
}

// The number of Workloads from each queue, `most` in total: the longest queues lose their ends first.
size_t share_of_each(const std::vector<scheduler::ListedClusterQueue>& queues, size_t most) {
  size_t low = 0, high = most;
  const auto total = [&](size_t share) {
    size_t sum = 0;
    for (const scheduler::ListedClusterQueue& queue : queues) sum += std::min(queue.pending.size(), share);
    return sum;
  };
  while (low < high) {
    const size_t middle = (low + high + 1) / 2;
    if (total(middle) <= most)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

}  // namespace

void keep_first(StartScene& scene, size_t most) {
  const size_t share = share_of_each(scene.listing.cluster_queues, most);
  for (scheduler::ListedClusterQueue& queue : scene.listing.cluster_queues) {
    std::vector<scheduler::PendingEntry>& pending = queue.pending;
    if (queue.object == nullptr || pending.size() <= share) continue;
    std::nth_element(pending.begin(), pending.begin() + static_cast<long>(share), pending.end(),
                     scheduler::comes_before);
    for (size_t i = share; i < pending.size(); ++i) scene.left_out.push_back(path_of(pending[i].object->meta));
    pending.resize(share);
  }
}

StartScene take_start_scene(const state::ClusterState& state, const state::SchedulerDriver& decisions,
                            const QueueSettings& settings, bool leads, Now now) {
  StartScene scene{
      .now = now, .leads = leads, .objects = {}, .listing = scheduler::listing_of(decisions.scheduler().state())};
  for (const ResourceType* type : {&kResourceFlavors, &kCohorts, &kAdmissionChecks, &kWorkloadPriorityClasses,
                                   &kLimitRanges, &kRuntimeClasses, &kClusterQueues, &kLocalQueues})
    state.for_each_of(*type, [&](const TypedObject& object) { scene.objects.push_back(object); });
  scene.nodes = decisions.node_loads();
  std::set<std::string> namespaces;
  state.for_each_of(kLocalQueues, [&](const TypedObject& object) { namespaces.insert(meta_of(object).ns); });
  for (const std::string& ns : namespaces) {
    if (const TypedObject* known = state.find(kNamespaces, "", ns)) scene.objects.push_back(*known);
  }
  scene.for_each_workload([&](const WorkloadPtr& workload) {
    if (const auto seconds = annotated(*workload, state, settings))
      scene.annotated.emplace(workload->meta.uid, *seconds);
  });
  return scene;
}

std::vector<FinishedRun> finished_among(const Unfinished& workloads, const state::ClusterState& state,
                                        const QueueSettings& settings) {
  std::vector<FinishedRun> runs;
  for (const auto& [ns, name] : workloads) {
    const Workload* workload = state.find<Workload>(ns, name);
    if (workload == nullptr) continue;
    if (auto run = finished_run(*workload, annotated(*workload, state, settings))) runs.push_back(*std::move(run));
  }
  return runs;
}

std::vector<FinishedRun> finished_before(const state::ClusterState& state, const QueueSettings& settings, size_t most) {
  std::vector<std::pair<Timestamp, const Workload*>> finished;
  // No Workload is selected, since there can be very many, and selected Workloads are sorted by name.
  state.select(kWorkloads, [&](const TypedObject& object) {
    const Workload& workload = *std::get<WorkloadPtr>(object);
    const Condition* condition = find_condition(workload.status.conditions, kFinishedCondition);
    if (condition != nullptr && condition->is_true()) finished.emplace_back(condition->last_transition, &workload);
    return false;
  });
  if (finished.size() > most) {
    std::nth_element(finished.begin(), finished.end() - static_cast<long>(most), finished.end());
    finished.erase(finished.begin(), finished.end() - static_cast<long>(most));
  }
  std::sort(finished.begin(), finished.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->meta.uid) < std::tie(b.first, b.second->meta.uid);
  });
  std::vector<FinishedRun> runs;
  for (const auto& [at, finished_one] : finished) {
    const Workload& workload = *finished_one;
    if (auto run = finished_run(workload, annotated(workload, state, settings))) runs.push_back(*std::move(run));
  }
  return runs;
}

}  // namespace muster::starts
