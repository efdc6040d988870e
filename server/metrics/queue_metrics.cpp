#include "server/metrics/queue_metrics.h"

#include <prometheus/collectable.h>

#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "server/metrics/queue_series.h"

namespace muster::server {
namespace {

constexpr const char* kRole = "replica_role";

struct GaugeFamily {
  Gauge gauge;
  const char* name;
  const char* help;
  prometheus::MetricType type = prometheus::MetricType::Gauge;
};

// In the order of the enumerators, which is checked below.
constexpr GaugeFamily kFamilies[] = {
    {Gauge::kPendingWorkloads, "kueue_pending_workloads",
     "Workloads that wait: active ones compete, inadmissible ones wait for something to change."},
    {Gauge::kReservingWorkloads, "kueue_reserving_active_workloads",
     "Workloads that have quota, admitted or not, and have not finished."},
    {Gauge::kAdmittedWorkloads, "kueue_admitted_active_workloads",
     "Workloads that are admitted and have not finished."},
    {Gauge::kFinishedWorkloads, "kueue_finished_workloads", "Finished Workloads that still exist."},
    {Gauge::kUnadmittedWorkloads, "kueue_unadmitted_workloads",
     "Workloads that are not admitted, by reason; without ClusterQueue those that name a queue that does not exist."},
    {Gauge::kClusterQueueStatus, "kueue_cluster_queue_status",
     "1 for the state of the ClusterQueue: pending, active or terminating."},
    {Gauge::kClusterQueueInfo, "kueue_cluster_queue_info",
     "1, labelled with the position of the ClusterQueue in the tree of Cohorts."},
    {Gauge::kClusterQueueShare, "kueue_cluster_queue_weighted_share",
     "Borrowed quota * 1000 / what the Cohort can lend, over the weight; not a number for weight 0."},
    {Gauge::kPreemptionSkips, "kueue_admission_cycle_preemption_skips",
     "Workloads that had victims to preempt and were skipped, since others of the same cycle needed the same quota."},
    {Gauge::kResourceReservation, "kueue_cluster_queue_resource_reservation", "Quota that is reserved."},
    {Gauge::kResourceUsage, "kueue_cluster_queue_resource_usage", "Quota that admitted Workloads use."},
    {Gauge::kNominalQuota, "kueue_cluster_queue_nominal_quota", "The ClusterQueue's own quota."},
    {Gauge::kBorrowingLimit, "kueue_cluster_queue_borrowing_limit",
     "How much it may borrow; infinite without a limit."},
    {Gauge::kLendingLimit, "kueue_cluster_queue_lending_limit",
     "How much others may borrow of it; infinite without a limit."},
    {Gauge::kResourcePending, "kueue_cluster_queue_resource_pending", "What all pending Workloads request."},
    {Gauge::kCohortInfo, "kueue_cohort_info", "1, labelled with the position of the Cohort in its tree."},
    {Gauge::kCohortShare, "kueue_cohort_weighted_share",
     "The same of a Cohort as kueue_cluster_queue_weighted_share of a ClusterQueue."},
    {Gauge::kCohortQuota, "kueue_cohort_subtree_quota",
     "Quota of the Cohort and of all below it, as far as they lend it."},
    {Gauge::kCohortReservations, "kueue_cohort_subtree_resource_reservations",
     "Quota that is reserved in all ClusterQueues below the Cohort."},
    {Gauge::kCohortAdmitted, "kueue_cohort_subtree_admitted_active_workloads",
     "Workloads that are admitted in all ClusterQueues below the Cohort and have not finished."},
    {Gauge::kCohortPending, "muster_cohort_subtree_pending_workloads",
     "Workloads that wait in all ClusterQueues below the Cohort, by the same statuses as kueue_pending_workloads."},
    {Gauge::kLocalPendingWorkloads, "kueue_local_queue_pending_workloads", "Workloads that wait, by LocalQueue."},
    {Gauge::kLocalReservingWorkloads, "kueue_local_queue_reserving_active_workloads",
     "Workloads that have quota, by LocalQueue."},
    {Gauge::kLocalAdmittedWorkloads, "kueue_local_queue_admitted_active_workloads",
     "Workloads that are admitted and have not finished, by LocalQueue."},
    {Gauge::kLocalFinishedWorkloads, "kueue_local_queue_finished_workloads",
     "Finished Workloads that still exist, by LocalQueue."},
    {Gauge::kLocalUnadmittedWorkloads, "kueue_local_queue_unadmitted_workloads",
     "Workloads that are not admitted, by LocalQueue and why."},
    {Gauge::kLocalQueueStatus, "kueue_local_queue_status",
     "1 for the status of the LocalQueue's condition Active: True, False or Unknown."},
    {Gauge::kLocalResourceReservation, "kueue_local_queue_resource_reservation",
     "Quota that is reserved, by LocalQueue."},
    {Gauge::kLocalResourceUsage, "kueue_local_queue_resource_usage",
     "Quota that admitted Workloads use, by LocalQueue."},
    {Gauge::kUnsupportedObjects, "muster_unsupported_objects",
     "Objects that ask for what muster does not do, by kind and field or feature."},
    {Gauge::kKeptBytes, "muster_kept_bytes", "Memory that watched objects take, estimated, by kind."},
    {Gauge::kLargestNamespaceBytes, "muster_largest_namespace_bytes",
     "The same of the objects of one namespace, the one that has most."},
    {Gauge::kResourceSeconds, "muster_resource_seconds_total",
     "Amounts of resources times seconds of admission, counted by this replica while it led; cpu in cores, memory in "
     "bytes.",
     prometheus::MetricType::Counter},
};

constexpr bool is_complete() {
  if (std::size(kFamilies) != kGauges) return false;
  for (size_t i = 0; i < kGauges; ++i) {
    if (kFamilies[i].gauge != static_cast<Gauge>(i)) return false;
  }
  return true;
}
static_assert(is_complete(), "each Gauge has its family in its place");

}  // namespace

class QueueMetrics::Collector final : public prometheus::Collectable {
 public:
  Collector(bool elects_leader, Read read, std::shared_ptr<const QueueSeries> series)
      : elects_leader_(elects_leader), read_(std::move(read)), series_(std::move(series)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families = series_->collect();
    if (const auto readings = read_()) show(*readings, families);
    return families;
  }

 private:
  void show(const GaugeReadings& readings, std::vector<prometheus::MetricFamily>& shown) const {
    const std::string role = !elects_leader_ ? "standalone" : readings.leads ? "leader" : "follower";
    std::array<prometheus::MetricFamily, kGauges> made;
    for (const GaugeReading& reading : readings.gauges) {
      const auto index = static_cast<size_t>(reading.gauge);
      const bool counts = kFamilies[index].type == prometheus::MetricType::Counter;
      prometheus::ClientMetric& metric = made[index].metric.emplace_back();
      (counts ? metric.counter.value : metric.gauge.value) = reading.value;
      metric.label.reserve(reading.labels.size() + 1);
      for (const GaugeLabel& label : reading.labels) metric.label.push_back({.name = label.name, .value = label.value});
      // A counter goes on under the same labels when the role changes.
      if (!counts) metric.label.push_back({.name = kRole, .value = role});
    }
    for (size_t i = 0; i < kGauges; ++i) {
      if (made[i].metric.empty()) continue;
      made[i].name = kFamilies[i].name;
      made[i].help = kFamilies[i].help;
      made[i].type = kFamilies[i].type;
      shown.push_back(std::move(made[i]));
    }
  }

  const bool elects_leader_;
  const Read read_;
  const std::shared_ptr<const QueueSeries> series_;
};

QueueMetrics::QueueMetrics(bool elects_leader, Read read)
    : series_(std::make_shared<QueueSeries>(elects_leader ? "leader" : "standalone")),
      collector_(std::make_shared<Collector>(elects_leader, std::move(read), series_)) {}
QueueMetrics::~QueueMetrics() = default;

void QueueMetrics::record(const Measurement& measurement) {
  series_->record(measurement);
}

std::shared_ptr<prometheus::Collectable> QueueMetrics::collectable() const {
  return collector_;
}

}  // namespace muster::server
