#include "state/metrics/queue_gauges.h"

#include <cmath>
#include <limits>
#include <map>

#include "api/cluster_queue.h"
#include "api/workload_conditions.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/queue_readings.h"
#include "state/cohorts_above.h"
#include "state/index/indexes.h"
#include "state/metrics/measurements.h"

namespace muster::state {
namespace {

using Sums = std::map<std::pair<std::string, std::string>, int64_t>;  // by flavor and resource

double to_double(std::string_view resource, int64_t amount) {
  return to_quantity(resource, amount).approximate();
}

double limit_of(const std::optional<Quantity>& limit) {
  return limit ? limit->approximate() : std::numeric_limits<double>::infinity();
}

constexpr const char* kQueue = "cluster_queue";

GaugeLabels with(GaugeLabels labels, const char* name, std::string value) {
  labels.push_back({name, std::move(value)});
  return labels;
}

// Position in the tree of Cohorts.
GaugeLabels place_of(const char* kind, const std::string& name, const scheduler::TreeReading& tree) {
  // Kueue's orchestrator of quotas, by which dashboards join; muster has none.
  return {{kind, name}, {"parent_cohort", tree.parent}, {"root_cohort", tree.root}, {"dynamic_quota_orchestrator", ""}};
}

void add_counts(UnadmittedCounts& sum, const UnadmittedCounts& counts) {
  for (const auto& [reasons, count] : counts) sum[reasons] += count;
}

// Calls visit(flavor, quota) for every quota of the queue.
template <class Visit>
void for_each_quota(const ClusterQueue& queue, Visit visit) {
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      for (const ResourceQuota& quota : flavor.resources) visit(flavor.name, quota);
    }
  }
}

class GaugeReader {
 public:
  GaugeReader(const ClusterState& state, const SchedulerDriver& decisions, const QueueSettings& settings)
      : state_(state),
        decisions_(decisions),
        settings_(settings),
        shows_unadmitted_(settings.rules.enabled(Gate::kUnadmittedWorkloadsObservability)),
        shows_cohorts_(settings.rules.enabled(Gate::kMetricsForCohorts)) {}

  std::vector<GaugeReading> read() {
    const scheduler::QueueReadings readings =
        scheduler::readings_of(decisions_.scheduler().state(), settings_.metrics.cluster_queue_resources);
    for (const scheduler::ClusterQueueReading& reading : readings.cluster_queues) read_cluster_queue(reading);
    for (const scheduler::LocalQueueReading& reading : readings.local_queues) pending_[reading.key] = reading.pending;
    state_.for_each_of(kLocalQueues,
                       [&](const TypedObject& object) { read_local_queue(*std::get<LocalQueuePtr>(object)); });
    if (shows_unadmitted_) read_homeless();
    if (shows_cohorts_) {
      for (const scheduler::CohortReading& reading : readings.cohorts) read_cohort(reading);
    }
    return std::move(gauges_);
  }

 private:
  // Values of a Cohort that come from the ClusterQueues below it.
  struct Subtree {
    int64_t admitted = 0;
    scheduler::PendingReading pending;
    Sums reserved;
  };

  void show(Gauge gauge, GaugeLabels labels, double value) { gauges_.push_back({gauge, std::move(labels), value}); }

  void show_pending(Gauge gauge, const GaugeLabels& owner, const scheduler::PendingReading& pending) {
    show(gauge, with(owner, "status", "active"), static_cast<double>(pending.active));
    show(gauge, with(owner, "status", "inadmissible"), static_cast<double>(pending.inadmissible));
  }

  void show_share(Gauge gauge, GaugeLabels labels, double share) {
    if (settings_.fair_sharing.empty()) return;
    show(gauge, std::move(labels), std::isinf(share) ? std::numeric_limits<double>::quiet_NaN() : share);
  }

  void read_cluster_queue(const scheduler::ClusterQueueReading& reading) {
    const ClusterQueue* queue = state_.find<ClusterQueue>(reading.name);
    if (queue == nullptr) return;
    const std::string& name = reading.name;
    const QueueCounts& counts = state_.queue_counts().of_cluster_queue(name);
    show_pending(Gauge::kPendingWorkloads, {{kQueue, name}}, reading.pending);
    show(Gauge::kReservingWorkloads, {{kQueue, name}}, counts.reserving);
    show(Gauge::kAdmittedWorkloads, {{kQueue, name}}, counts.admitted);
    read_local_counts(name);
    const std::string_view status = queue->meta.deleting ? "terminating" : reading.active ? "active" : "pending";
    for (const char* each : {"pending", "active", "terminating"})
      show(Gauge::kClusterQueueStatus, {{kQueue, name}, {"status", each}}, each == status ? 1 : 0);
    if (shows_cohorts_) show(Gauge::kClusterQueueInfo, place_of(kQueue, name, reading.tree), 1);
    show_share(Gauge::kClusterQueueShare, {{kQueue, name}, {"cohort", queue->cohort}}, reading.tree.share);
    show(Gauge::kPreemptionSkips, {{kQueue, name}}, reading.preemption_skips);
    if (settings_.metrics.cluster_queue_resources) read_resources(*queue, counts, reading.requested);
    if (shows_cohorts_) add_to_cohorts(*queue, counts, reading.pending);
  }

  // Values that are counted by LocalQueue only.
  void read_local_counts(const std::string& cluster_queue) {
    int64_t finished = 0;
    UnadmittedCounts unadmitted;
    for (const LocalQueue* local : state_.by(kLocalQueuesByClusterQueue, {"", cluster_queue})) {
      const QueueCounts& counts = state_.queue_counts().of_local_queue(local->meta.ns, local->meta.name);
      finished += counts.finished;
      add_counts(unadmitted, counts.unadmitted);
    }
    show(Gauge::kFinishedWorkloads, {{kQueue, cluster_queue}}, static_cast<double>(finished));
    show_unadmitted(Gauge::kUnadmittedWorkloads, {{kQueue, cluster_queue}}, unadmitted);
  }

  void show_unadmitted(Gauge gauge, const GaugeLabels& queue, const UnadmittedCounts& counts) {
    if (!shows_unadmitted_) return;
    for (const auto& [reasons, count] : counts) {
      GaugeLabels labels = queue;
      labels.push_back({"reason", reasons.first});
      labels.push_back({"underlying_cause", reasons.second});
      show(gauge, std::move(labels), count);
    }
  }

  void read_resources(const ClusterQueue& queue, const QueueCounts& counts, const Requests& requested) {
    const std::string& name = queue.meta.name;
    for_each_quota(queue, [&](const std::string& flavor, const ResourceQuota& quota) {
      const GaugeLabels labels = {
          {"cohort", queue.cohort}, {kQueue, name}, {"flavor", flavor}, {"resource", quota.name}};
      show(Gauge::kResourceReservation, labels, to_double(quota.name, amount_of(counts.reserved, flavor, quota.name)));
      show(Gauge::kResourceUsage, labels, to_double(quota.name, amount_of(counts.used, flavor, quota.name)));
      show(Gauge::kNominalQuota, labels, quota.nominal.approximate());
      show(Gauge::kBorrowingLimit, labels, limit_of(quota.borrowing_limit));
      show(Gauge::kLendingLimit, labels, limit_of(quota.lending_limit));
    });
    for (const auto& [resource, amount] : requested)
      show(Gauge::kResourcePending, {{kQueue, name}, {"resource", resource}}, to_double(resource, amount));
  }

  void add_to_cohorts(const ClusterQueue& queue, const QueueCounts& counts, const scheduler::PendingReading& pending) {
    for (const std::string& name : cohorts_above(queue, state_).names) {
      Subtree& subtree = subtrees_[name];
      subtree.admitted += counts.admitted;
      subtree.pending.active += pending.active;
      subtree.pending.inadmissible += pending.inadmissible;
      for (const auto& [flavor, requests] : counts.reserved) {
        for (const auto& [resource, amount] : requests) {
          int64_t& sum = subtree.reserved[{flavor, resource}];
          sum = saturating_add(sum, amount);
        }
      }
    }
  }

  void read_local_queue(const LocalQueue& queue) {
    if (!is_measured(queue, settings_)) return;
    const std::string &name = queue.meta.name, &ns = queue.meta.ns;
    const GaugeLabels local = {{"name", name}, {"namespace", ns}};
    const QueueCounts& counts = state_.queue_counts().of_local_queue(ns, name);
    const auto found = pending_.find(ns + "/" + name);
    const scheduler::PendingReading pending = found == pending_.end() ? scheduler::PendingReading() : found->second;
    show_pending(Gauge::kLocalPendingWorkloads, local, pending);
    show(Gauge::kLocalReservingWorkloads, local, counts.reserving);
    show(Gauge::kLocalAdmittedWorkloads, local, counts.admitted);
    show(Gauge::kLocalFinishedWorkloads, local, counts.finished);
    show_unadmitted(Gauge::kLocalUnadmittedWorkloads, with(local, kQueue, queue.cluster_queue), counts.unadmitted);
    const Condition* active = find_condition(queue.status.conditions, kActiveCondition);
    const std::string_view status = active == nullptr ? "Unknown" : std::string_view(active->status);
    for (const char* each : {"True", "False", "Unknown"})
      show(Gauge::kLocalQueueStatus, with(local, "active", each), each == status ? 1 : 0);
    const ClusterQueue* cluster_queue = state_.find<ClusterQueue>(queue.cluster_queue);
    if (cluster_queue == nullptr) return;
    for_each_quota(*cluster_queue, [&](const std::string& flavor, const ResourceQuota& quota) {
      const GaugeLabels labels = with(with(local, "flavor", flavor), "resource", quota.name);
      show(Gauge::kLocalResourceReservation, labels,
           to_double(quota.name, amount_of(counts.reserved, flavor, quota.name)));
      show(Gauge::kLocalResourceUsage, labels, to_double(quota.name, amount_of(counts.used, flavor, quota.name)));
    });
  }

  // Workloads that name a LocalQueue, or through it a ClusterQueue, that does not exist. They are counted in
  // one sum, since every user can invent names.
  void read_homeless() {
    UnadmittedCounts unadmitted;
    for (const auto& [path, counts] : state_.queue_counts().local_queues()) {
      const auto [ns, name] = split_path(path);
      const LocalQueue* local = state_.find<LocalQueue>(ns, name);
      if (local == nullptr || state_.find<ClusterQueue>(local->cluster_queue) == nullptr)
        add_counts(unadmitted, counts.unadmitted);
    }
    show_unadmitted(Gauge::kUnadmittedWorkloads, {{kQueue, ""}}, unadmitted);
  }

  void read_cohort(const scheduler::CohortReading& reading) {
    const std::string& name = reading.name;
    const Subtree& subtree = subtrees_[name];
    show(Gauge::kCohortInfo, place_of("cohort", name, reading.tree), 1);
    show_share(Gauge::kCohortShare, {{"cohort", name}}, reading.tree.share);
    show(Gauge::kCohortAdmitted, {{"cohort", name}}, static_cast<double>(subtree.admitted));
    show_pending(Gauge::kCohortPending, {{"cohort", name}}, subtree.pending);
    for (const scheduler::CohortReading::Quota& quota : reading.subtree) {
      const GaugeLabels labels = {{"cohort", name}, {"flavor", quota.flavor}, {"resource", quota.resource}};
      const auto reserved = subtree.reserved.find({quota.flavor, quota.resource});
      show(Gauge::kCohortQuota, labels, to_double(quota.resource, quota.amount));
      show(Gauge::kCohortReservations, labels,
           reserved == subtree.reserved.end() ? 0 : to_double(quota.resource, reserved->second));
    }
  }

  const ClusterState& state_;
  const SchedulerDriver& decisions_;
  const QueueSettings& settings_;
  const bool shows_unadmitted_;
  const bool shows_cohorts_;
  std::map<std::string, scheduler::PendingReading, std::less<>> pending_;  // by "ns/name" of LocalQueues
  std::map<std::string, Subtree> subtrees_;                                // by Cohort
  std::vector<GaugeReading> gauges_;
};

}  // namespace

std::vector<GaugeReading> queue_gauges(const ClusterState& state, const SchedulerDriver& decisions,
                                       const QueueSettings& settings) {
  return GaugeReader(state, decisions, settings).read();
}

}  // namespace muster::state
