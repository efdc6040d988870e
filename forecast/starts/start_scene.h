// What estimates of starts are made from: the queues and every Workload that is not finished, as the engine knows them
// at one moment. A value that other threads can read: it copies pointers.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/config/queue_settings.h"
#include "base/clock.h"
#include "forecast/starts/run_times.h"
#include "kinds/typed_object.h"
#include "scheduler/nodes/node_table.h"
#include "scheduler/views/listing.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"

namespace muster::starts {

struct StartScene {
  Now now;
  bool leads = false;
  // Queues, flavors, Cohorts, checks, classes, LimitRanges, RuntimeClasses, and the namespaces of LocalQueues.
  std::vector<TypedObject> objects;
  scheduler::Listing listing;
  // Run times that jobs or Workloads are annotated with, in seconds, by the Workload's uid.
  std::unordered_map<std::string, double> annotated{};
  // nullopt: no flavor counts nodes.
  std::optional<scheduler::NodeLoads> nodes{};
  // "namespace/name" of pending Workloads that keep_first() has left out.
  std::vector<std::string> left_out{};

  // Those in a ClusterQueue.
  template <class Visit>
  void for_each_workload(Visit visit) const {
    for (const scheduler::ListedClusterQueue& queue : listing.cluster_queues) {
      for (const scheduler::HolderEntry& entry : queue.holders) visit(entry.object);
      for (const scheduler::PendingEntry& entry : queue.pending) visit(entry.object);
    }
  }
};

// One thread: that of the state. Linear in the number of Workloads that are not finished.
StartScene take_start_scene(const state::ClusterState& state, const state::SchedulerDriver& decisions,
                            const QueueSettings& settings, bool leads, Now now);

// Keeps the first pending Workloads of each ClusterQueue, `most` in total: the longest queues lose their ends first. Of
// the others only the names stay, so that the scene does not keep old versions of all Workloads in memory while the
// estimates are made.
void keep_first(StartScene& scene, size_t most);

// "namespace/name" of Workloads that were not finished when a scene was taken.
using Unfinished = std::vector<std::pair<std::string, std::string>>;
// Of these, those that have finished since; the others are there as before, or gone.
std::vector<FinishedRun> finished_among(const Unfinished& workloads, const state::ClusterState& state,
                                        const QueueSettings& settings);
// Of all finished ones that the cluster keeps, `most` at most: the latest.
std::vector<FinishedRun> finished_before(const state::ClusterState& state, const QueueSettings& settings, size_t most);

}  // namespace muster::starts
