#include "commands/simulate/run_times.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/meta/resource_type.h"
#include "api/workload.h"
#include "api/workload_conditions.h"
#include "forecast/annotations.h"
#include "forecast/starts/run_times.h"

namespace muster::commands {
namespace {

using forecast::SourceObject;

struct KnownWorkload {
  SourceObject* source;
  WorkloadPtr object;
};

bool is_of_cluster(const SourceObject& source, const ResourceType& type) {
  return source.is_of_others && string_at(source.value, {"kind"}) == type.kind;
}

// Their Workloads end by an eviction only.
bool serves(const Workload& workload) {
  constexpr std::string_view kServing[] = {"StatefulSet", "Deployment", "ReplicaSet", "LeaderWorkerSet"};
  const auto& owner = workload.meta.controller;
  return !workload.meta.annotation("kueue.x-k8s.io/job-owner-gvk").empty() ||
         (owner && std::find(std::begin(kServing), std::end(kServing), owner->kind.text()) != std::end(kServing));
}

double gone_of(const Workload& workload, TimePoint now) {
  const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
  if (admitted == nullptr || !admitted->is_true() || admitted->last_transition.is_zero()) return 0;
  const Duration gone = now - to_time_point(admitted->last_transition);
  return std::max(0.0, std::chrono::duration<double>(gone).count());
}

void note_basis(const starts::RunTimeGuess& guess, StartBasis& basis) {
  using starts::RunTimeSource;
  basis.history =
      basis.history || guess.source == RunTimeSource::kOwnHistory || guess.source == RunTimeSource::kOtherHistory;
  basis.maximum_times = basis.maximum_times || guess.most.has_value();
  basis.annotations = basis.annotations || guess.source == RunTimeSource::kAnnotation;
}

}  // namespace

KnownRunTimes give_run_times(std::vector<SourceObject>& objects, double share, TimePoint now) {
  std::map<std::string, std::string> cluster_queues;  // by LocalQueue
  std::vector<KnownWorkload> unfinished;
  std::vector<starts::FinishedRun> runs;
  for (SourceObject& source : objects) {
    if (is_of_cluster(source, kLocalQueues))
      cluster_queues[path_of(string_at(source.value, {"metadata", "namespace"}),
                             string_at(source.value, {"metadata", "name"}))] =
          string_at(source.value, {"spec", "clusterQueue"});
    if (!is_of_cluster(source, kWorkloads)) continue;
    WorkloadPtr workload = read_workload(source.value);
    if (!workload->finished())
      unfinished.push_back({&source, std::move(workload)});
    else if (auto run = starts::finished_run(*workload, starts::annotated_seconds(workload->meta.annotations)))
      runs.push_back(*std::move(run));
  }
  starts::RunTimes known;
  KnownRunTimes found;
  for (const starts::FinishedRun& run : runs) {
    known.note(run);
    found.finished[run.local_queue] = static_cast<uint32_t>(known.known_of(run.local_queue));
  }
  for (const KnownWorkload& one : unfinished) {
    const Workload& workload = *one.object;
    if (serves(workload)) continue;
    const auto queue = cluster_queues.find(path_of(workload.meta.ns, workload.queue_name));
    const starts::RunTimeGuess guess = known.guess(workload, queue == cluster_queues.end() ? "" : queue->second,
                                                   starts::annotated_seconds(workload.meta.annotations));
    const double gone = gone_of(workload, now);
    const auto left = guess.remaining(gone, share);
    if (!left) continue;
    note_basis(guess, found.basis);
    const int64_t seconds = std::max<int64_t>(1, static_cast<int64_t>(gone + *left));
    one.source->value["metadata"]["annotations"][std::string(forecast::kSimulatePrefix) + "run-time"] =
        std::to_string(seconds) + "s";
  }
  return found;
}

}  // namespace muster::commands
