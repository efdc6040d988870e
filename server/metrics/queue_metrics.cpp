#include "server/metrics/queue_metrics.h"

#include <prometheus/collectable.h>

#include <string>
#include <utility>
#include <vector>

#include "server/metrics/queue_series.h"

namespace muster {
namespace {

constexpr const char* kRole = "replica_role";

struct GaugeFamily {
  Gauge gauge;
  const char* name;
  std::vector<const char*> labels;
  const char* help;
};

const std::vector<GaugeFamily>& gauge_families() {
  static const std::vector<const char*> kQueue = {"cluster_queue"}, kLocal = {"name", "namespace"};
  static const std::vector<const char*> kQuota = {"cohort", "cluster_queue", "flavor", "resource"};
  static const std::vector<const char*> kLocalQuota = {"name", "namespace", "flavor", "resource"};
  static const std::vector<const char*> kCohortQuota = {"cohort", "flavor", "resource"};
  // In the order of the enumerators.
  static const std::vector<GaugeFamily> families = {
      {Gauge::kPendingWorkloads,
       "kueue_pending_workloads",
       {"cluster_queue", "status"},
       "Workloads that wait: active ones compete, inadmissible ones wait for something to change."},
      {Gauge::kReservingWorkloads, "kueue_reserving_active_workloads", kQueue,
       "Workloads that have quota, admitted or not, and have not finished."},
      {Gauge::kAdmittedWorkloads, "kueue_admitted_active_workloads", kQueue,
       "Workloads that are admitted and have not finished."},
      {Gauge::kFinishedWorkloads, "kueue_finished_workloads", kQueue, "Finished Workloads that still exist."},
      {Gauge::kUnadmittedWorkloads,
       "kueue_unadmitted_workloads",
       {"cluster_queue", "reason", "underlying_cause"},
       "Workloads that are not admitted, by why; without ClusterQueue those that name a queue that does not exist."},
      {Gauge::kClusterQueueStatus,
       "kueue_cluster_queue_status",
       {"cluster_queue", "status"},
       "1 for what the ClusterQueue is: pending, active or terminating."},
      {Gauge::kClusterQueueInfo,
       "kueue_cluster_queue_info",
       {"cluster_queue", "parent_cohort", "root_cohort"},
       "1, labelled with where the ClusterQueue stands in the tree of Cohorts."},
      {Gauge::kClusterQueueShare,
       "kueue_cluster_queue_weighted_share",
       {"cluster_queue", "cohort"},
       "Borrowed quota * 1000 / what the Cohort can lend, over the weight; not a number for weight 0."},
      {Gauge::kResourceReservation, "kueue_cluster_queue_resource_reservation", kQuota, "Quota that is reserved."},
      {Gauge::kResourceUsage, "kueue_cluster_queue_resource_usage", kQuota, "Quota that admitted Workloads use."},
      {Gauge::kNominalQuota, "kueue_cluster_queue_nominal_quota", kQuota, "The ClusterQueue's own quota."},
      {Gauge::kBorrowingLimit, "kueue_cluster_queue_borrowing_limit", kQuota,
       "How much it may borrow; infinite without a limit."},
      {Gauge::kLendingLimit, "kueue_cluster_queue_lending_limit", kQuota,
       "How much others may borrow of it; infinite without a limit."},
      {Gauge::kResourcePending,
       "kueue_cluster_queue_resource_pending",
       {"cluster_queue", "resource"},
       "What all Workloads that wait ask for."},
      {Gauge::kCohortInfo,
       "kueue_cohort_info",
       {"cohort", "parent_cohort", "root_cohort"},
       "1, labelled with where the Cohort stands in its tree."},
      {Gauge::kCohortShare,
       "kueue_cohort_weighted_share",
       {"cohort"},
       "The same of a Cohort as kueue_cluster_queue_weighted_share of a ClusterQueue."},
      {Gauge::kCohortQuota, "kueue_cohort_subtree_quota", kCohortQuota,
       "Quota of the Cohort and of all below it, as far as they lend it."},
      {Gauge::kCohortReservations, "kueue_cohort_subtree_resource_reservations", kCohortQuota,
       "Quota that is reserved in all ClusterQueues below the Cohort."},
      {Gauge::kCohortAdmitted,
       "kueue_cohort_subtree_admitted_active_workloads",
       {"cohort"},
       "Workloads that are admitted in all ClusterQueues below the Cohort and have not finished."},
      {Gauge::kLocalPendingWorkloads,
       "kueue_local_queue_pending_workloads",
       {"name", "namespace", "status"},
       "Workloads that wait, by LocalQueue."},
      {Gauge::kLocalReservingWorkloads, "kueue_local_queue_reserving_active_workloads", kLocal,
       "Workloads that have quota, by LocalQueue."},
      {Gauge::kLocalAdmittedWorkloads, "kueue_local_queue_admitted_active_workloads", kLocal,
       "Workloads that are admitted and have not finished, by LocalQueue."},
      {Gauge::kLocalFinishedWorkloads, "kueue_local_queue_finished_workloads", kLocal,
       "Finished Workloads that still exist, by LocalQueue."},
      {Gauge::kLocalUnadmittedWorkloads,
       "kueue_local_queue_unadmitted_workloads",
       {"name", "namespace", "cluster_queue", "reason", "underlying_cause"},
       "Workloads that are not admitted, by LocalQueue and why."},
      {Gauge::kLocalQueueStatus,
       "kueue_local_queue_status",
       {"name", "namespace", "active"},
       "1 for the status of the LocalQueue's condition Active: True, False or Unknown."},
      {Gauge::kLocalResourceReservation, "kueue_local_queue_resource_reservation", kLocalQuota,
       "Quota that is reserved, by LocalQueue."},
      {Gauge::kLocalResourceUsage, "kueue_local_queue_resource_usage", kLocalQuota,
       "Quota that admitted Workloads use, by LocalQueue."},
      {Gauge::kUnsupportedObjects,
       "muster_unsupported_objects",
       {"kind", "what"},
       "Objects that ask for what muster does not do, by kind and field or feature."},
  };
  return families;
}

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
    const std::vector<GaugeFamily>& families = gauge_families();
    std::vector<prometheus::MetricFamily> made(families.size());
    for (const GaugeReading& reading : readings.gauges) {
      const auto index = static_cast<size_t>(reading.gauge);
      const GaugeFamily& family = families[index];
      prometheus::ClientMetric& metric = made[index].metric.emplace_back();
      metric.gauge.value = reading.value;
      metric.label.reserve(family.labels.size() + 1);
      for (size_t i = 0; i < family.labels.size(); ++i)
        metric.label.push_back({.name = family.labels[i], .value = reading.labels[i]});
      metric.label.push_back({.name = kRole, .value = role});
    }
    for (size_t i = 0; i < families.size(); ++i) {
      if (made[i].metric.empty()) continue;
      made[i].name = families[i].name;
      made[i].help = families[i].help;
      made[i].type = prometheus::MetricType::Gauge;
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

}  // namespace muster
