// What the scheduler learns of nodes, for flavors that count them.
#include <algorithm>

#include "api/cluster_queue.h"
#include "api/workload.h"
#include "scheduler/nodes/node_capacity.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"
#include "state/namespaced_name.h"
#include "state/pod_requests.h"
#include "state/scheduler_driver.h"

namespace muster::state {
namespace {

// Pods come and go all the time; what waits for nodes is evaluated at most this often because of them.
constexpr Duration kBetweenNodes = std::chrono::milliseconds(500);
// Rows of nodes that are gone, until those that nothing refers to are looked for.
constexpr size_t kMostGoneNodes = 256;

}  // namespace

std::unique_ptr<scheduler::NodeCapacity> node_capacity(scheduler::NodeTable& nodes, const ClusterState& state) {
  return std::make_unique<scheduler::NodeCapacity>(nodes, [&state](const Workload& workload, const PodSet& pod_set) {
    return to_requests(pod_requests_in(*pod_set.pod_template.spec, workload.meta.ns, state));
  });
}

SchedulerDriver::SchedulerDriver(const QueueSettings& settings, scheduler::NodeTable& nodes, const ClusterState& state)
    : SchedulerDriver(settings) {
  auto capacity = node_capacity(nodes, state);
  nodes_ = &nodes;
  node_capacity_ = capacity.get();
  scheduler::FurtherCapacities further;
  further.push_back(std::move(capacity));
  scheduler_ = std::make_unique<scheduler::Scheduler>(scheduler_settings_of(settings), std::move(further));
}

// Holders of a flavor that counts nodes from now on, or no more, hold something else.
void SchedulerDriver::note_flavor(const TypedObject& object, bool is_there, const ClusterState& state, Now now) {
  const auto* flavor = std::get_if<ResourceFlavorPtr>(&object);
  if (flavor == nullptr) return;
  const bool changed = is_there ? node_capacity_->put(*flavor) : node_capacity_->remove_flavor((*flavor)->meta.name);
  if (changed) put_all(state, now);
}

// A pod that has got a node, or ended, changes what its Workload holds. A place that is lost is looked for at once,
// before others get what is free. What waits is evaluated at most once in a while.
void SchedulerDriver::take_nodes(const ClusterState& state, Now now) {
  if (nodes_ == nullptr) return;
  const auto put_again = [&](const std::string& path) {
    if (!node_capacity_->knows(path)) return;
    const auto [ns, name] = split_path(path);
    if (const WorkloadPtr workload = state.share<Workload>(ns, name)) put_workload(workload, state, now);
  };
  for (const std::string& path : nodes_->take_touched()) put_again(path);
  const bool room = nodes_->take_room();
  if (room) {
    for (const std::string& path : node_capacity_->misplaced()) put_again(path);
  }
  if (nodes_->gone() > kMostGoneNodes) nodes_->recycle([this](uint32_t row) { return node_capacity_->is_unused(row); });
  if (room && !nodes_due_) nodes_due_ = std::max(now.monotonic, nodes_rest_until_);
  if (!nodes_due_ || *nodes_due_ > now.monotonic) return;
  nodes_due_.reset();
  nodes_rest_until_ = now.monotonic + kBetweenNodes;
  scheduler_->further_released();
}

std::optional<MonotonicTime> SchedulerDriver::next_wake() const {
  const std::optional<MonotonicTime> wake = scheduler_->next_wake();
  if (!nodes_due_) return wake;
  return wake ? std::min(*wake, *nodes_due_) : nodes_due_;
}

std::optional<scheduler::NodeLoads> SchedulerDriver::node_loads() const {
  return node_capacity_ == nullptr ? std::nullopt : node_capacity_->loads();
}

}  // namespace muster::state
