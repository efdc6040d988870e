#include "server/queue_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster {
namespace {

using prometheus::Histogram;
using prometheus::Labels;

constexpr const char* kRole = "replica_role";

// --- Counters and histograms ---

// Whose series it is: it ends with its owner.
enum class Owner { kNobody, kClusterQueue, kPreemptor, kLocalQueue, kCohort };
// Beside those that name the owner.
enum LabelSet : unsigned { kNone = 0, kResult = 1, kClass = 2, kReason = 4, kCause = 8 };

enum class Buckets {
  kCount,      // none: a counter
  kAttempt,    // a decision takes milliseconds
  kWait,       // 1 s to 3 h, as Kueue has them
  kAdmission,  // 1 s to 11 h: the same
};

struct Row {
  Measured what;
  Owner owner;
  const char* name;
  Buckets buckets;
  unsigned labels;
  const char* help;
};

constexpr Row kRows[] = {
    {Measured::kAdmissionAttempt, Owner::kNobody, "kueue_admission_attempts_total", Buckets::kCount, kResult,
     "Batches of events after which Workloads were looked at, by whether one of them got quota."},
    {Measured::kAdmissionAttempt, Owner::kNobody, "kueue_admission_attempt_duration_seconds", Buckets::kAttempt,
     kResult, "How long such a batch took to be decided and worded."},

    {Measured::kQuotaReserved, Owner::kClusterQueue, "kueue_quota_reserved_workloads_total", Buckets::kCount, kClass,
     "Workloads that got quota."},
    {Measured::kQuotaReserved, Owner::kLocalQueue, "kueue_local_queue_quota_reserved_workloads_total", Buckets::kCount,
     kClass, "Workloads that got quota, by LocalQueue."},
    {Measured::kQuotaReserved, Owner::kClusterQueue, "kueue_quota_reserved_wait_time_seconds", Buckets::kWait, kClass,
     "From creation, or the last requeueing, until quota was reserved."},
    {Measured::kQuotaReserved, Owner::kLocalQueue, "kueue_local_queue_quota_reserved_wait_time_seconds", Buckets::kWait,
     kClass, "From creation, or the last requeueing, until quota was reserved, by LocalQueue."},

    {Measured::kAdmitted, Owner::kClusterQueue, "kueue_admitted_workloads_total", Buckets::kCount, kClass,
     "Workloads that were admitted."},
    {Measured::kAdmitted, Owner::kLocalQueue, "kueue_local_queue_admitted_workloads_total", Buckets::kCount, kClass,
     "Workloads that were admitted, by LocalQueue."},
    {Measured::kAdmitted, Owner::kCohort, "kueue_cohort_subtree_admitted_workloads_total", Buckets::kCount, kClass,
     "Workloads that were admitted, by every Cohort above their ClusterQueue."},
    {Measured::kAdmitted, Owner::kClusterQueue, "kueue_admission_wait_time_seconds", Buckets::kAdmission, kClass,
     "From creation, or the last requeueing, until admission."},
    {Measured::kAdmitted, Owner::kLocalQueue, "kueue_local_queue_admission_wait_time_seconds", Buckets::kWait, kClass,
     "From creation, or the last requeueing, until admission, by LocalQueue."},

    {Measured::kChecksPassed, Owner::kClusterQueue, "kueue_admission_checks_wait_time_seconds", Buckets::kWait, kClass,
     "From the reservation of quota to admission, of Workloads with admission checks."},
    {Measured::kChecksPassed, Owner::kLocalQueue, "kueue_local_queue_admission_checks_wait_time_seconds",
     Buckets::kWait, kClass,
     "From the reservation of quota to admission, of Workloads with admission checks, by LocalQueue."},

    {Measured::kReady, Owner::kClusterQueue, "kueue_ready_wait_time_seconds", Buckets::kWait, kClass,
     "From creation, or the last requeueing, until all pods were ready."},
    {Measured::kReady, Owner::kLocalQueue, "kueue_local_queue_ready_wait_time_seconds", Buckets::kWait, kClass,
     "From creation, or the last requeueing, until all pods were ready, by LocalQueue."},
    {Measured::kReadySinceAdmitted, Owner::kClusterQueue, "kueue_admitted_until_ready_wait_time_seconds",
     Buckets::kWait, kClass, "From admission until all pods were ready."},
    {Measured::kReadySinceAdmitted, Owner::kLocalQueue, "kueue_local_queue_admitted_until_ready_wait_time_seconds",
     Buckets::kWait, kClass, "From admission until all pods were ready, by LocalQueue."},

    {Measured::kEvicted, Owner::kClusterQueue, "kueue_evicted_workloads_total", Buckets::kCount,
     kReason | kCause | kClass, "Evictions by reason and, where there is one, what lies beneath it."},
    {Measured::kEvicted, Owner::kLocalQueue, "kueue_local_queue_evicted_workloads_total", Buckets::kCount,
     kReason | kCause | kClass, "Evictions by LocalQueue, reason and underlying cause."},
    {Measured::kEvictedFirst, Owner::kClusterQueue, "kueue_evicted_workloads_once_total", Buckets::kCount,
     kReason | kCause | kClass, "Workloads that were evicted for this reason and cause at least once."},
    {Measured::kEvictedWhileReady, Owner::kClusterQueue, "kueue_pods_ready_to_evicted_time_seconds", Buckets::kWait,
     kReason | kCause, "How long the pods of an evicted Workload had been ready."},
    {Measured::kEvictionOver, Owner::kClusterQueue, "kueue_workload_eviction_latency_seconds", Buckets::kWait, kReason,
     "From an eviction until the Workload has stopped and its quota is free."},
    {Measured::kPreempted, Owner::kPreemptor, "kueue_preempted_workloads_total", Buckets::kCount, kReason,
     "Workloads that were preempted, by the ClusterQueue that needed their quota."},

    {Measured::kFinished, Owner::kClusterQueue, "kueue_finished_workloads_total", Buckets::kCount, kClass,
     "Workloads that have finished."},
    {Measured::kFinished, Owner::kLocalQueue, "kueue_local_queue_finished_workloads_total", Buckets::kCount, kClass,
     "Workloads that have finished, by LocalQueue."},
    {Measured::kExecuted, Owner::kClusterQueue, "kueue_execution_time_seconds", Buckets::kWait, kClass,
     "How long a finished Workload was admitted, all its admissions together."},
    {Measured::kExecuted, Owner::kLocalQueue, "kueue_local_queue_execution_time_seconds", Buckets::kWait, kClass,
     "How long a finished Workload was admitted, all its admissions together, by LocalQueue."},
};

Histogram::BucketBoundaries boundaries(Buckets buckets) {
  if (buckets == Buckets::kAttempt) return {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  Histogram::BucketBoundaries bounds = {1};
  const size_t count = buckets == Buckets::kAdmission ? 16 : 14;
  for (double bound = 2.5; bounds.size() < count; bound *= 2) bounds.push_back(bound);
  return bounds;
}

// --- Gauges ---

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
  };
  return families;
}

}  // namespace

class QueueMetrics::Recorder {
 public:
  explicit Recorder(std::string role) : role_(std::move(role)) {
    for (const Row& row : kRows) {
      Family family{.row = &row};
      if (row.buckets == Buckets::kCount)
        family.counters = &prometheus::BuildCounter().Name(row.name).Help(row.help).Register(*registry_);
      else
        family.histograms = &prometheus::BuildHistogram().Name(row.name).Help(row.help).Register(*registry_);
      families_.emplace(row.what, family);
    }
  }

  void record(const Measurement& measurement) {
    switch (measurement.what) {
      case Measured::kClusterQueueGone:
        end(Owner::kPreemptor, measurement.cluster_queue);
        return end(Owner::kClusterQueue, measurement.cluster_queue);
      case Measured::kLocalQueueGone:
        return end(Owner::kLocalQueue, local_name(measurement));
      case Measured::kCohortGone:
        for (const std::string& cohort : measurement.cohorts) end(Owner::kCohort, cohort);
        return;
      default:
        break;
    }
    const auto [first, last] = families_.equal_range(measurement.what);
    for (auto family = first; family != last; ++family) {
      for (const std::string& owner : owners_of(family->second.row->owner, measurement))
        add(family->second, owner, measurement);
    }
  }

  std::vector<prometheus::MetricFamily> collect() const { return registry_->Collect(); }

 private:
  struct Family {
    const Row* row;
    prometheus::Family<prometheus::Counter>* counters = nullptr;
    prometheus::Family<Histogram>* histograms = nullptr;
  };
  struct Series {
    const Family* family;
    prometheus::Counter* counter = nullptr;
    Histogram* histogram = nullptr;
  };

  static std::string local_name(const Measurement& measurement) {
    return measurement.ns + "/" + measurement.local_queue;
  }

  // Names; none where there is nothing that a series could end with.
  static std::vector<std::string> owners_of(Owner owner, const Measurement& measurement) {
    const auto unless_empty = [](const std::string& given, std::string name) {
      return given.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(name)};
    };
    switch (owner) {
      case Owner::kNobody:
        return {""};
      case Owner::kClusterQueue:
      case Owner::kPreemptor:
        return unless_empty(measurement.cluster_queue, measurement.cluster_queue);
      case Owner::kLocalQueue:
        return unless_empty(measurement.local_queue, local_name(measurement));
      case Owner::kCohort:
        return measurement.cohorts;
    }
    return {};
  }

  Labels labels_of(const Row& row, const std::string& owner, const Measurement& measurement) const {
    Labels labels = {{kRole, role_}};
    if (row.owner == Owner::kClusterQueue) labels["cluster_queue"] = owner;
    if (row.owner == Owner::kPreemptor) labels["preempting_cluster_queue"] = owner;
    if (row.owner == Owner::kCohort) labels["cohort"] = owner;
    if (row.owner == Owner::kLocalQueue) {
      labels["name"] = measurement.local_queue;
      labels["namespace"] = measurement.ns;
    }
    if (row.labels & kResult) labels["result"] = measurement.reason;
    if (row.labels & kReason) labels["reason"] = measurement.reason;
    if (row.labels & kCause) labels["underlying_cause"] = measurement.cause;
    if (row.labels & kClass) labels["priority_class"] = measurement.priority_class;
    return labels;
  }

  void add(const Family& family, const std::string& owner, const Measurement& measurement) {
    const Row& row = *family.row;
    std::string key = row.name;
    for (const std::string& part : {owner, measurement.priority_class, measurement.reason, measurement.cause})
      key.append(1, '\x1f').append(part);
    const auto [found, is_new] = series_.try_emplace(std::move(key), Series{.family = &family});
    Series& series = found->second;
    if (is_new) {
      const Labels labels = labels_of(row, owner, measurement);
      if (family.counters != nullptr)
        series.counter = &family.counters->Add(labels);
      else
        series.histogram = &family.histograms->Add(labels, boundaries(row.buckets));
      if (row.owner != Owner::kNobody) owned_[{row.owner, owner}].push_back(found->first);
    }
    if (series.counter != nullptr)
      series.counter->Increment();
    else
      series.histogram->Observe(measurement.seconds);
  }

  void end(Owner owner, const std::string& name) {
    const auto owned = owned_.find({owner, name});
    if (owned == owned_.end()) return;
    for (const std::string& key : owned->second) {
      const auto found = series_.find(key);
      const Series& series = found->second;
      if (series.counter != nullptr)
        series.family->counters->Remove(series.counter);
      else
        series.family->histograms->Remove(series.histogram);
      series_.erase(found);
    }
    owned_.erase(owned);
  }

  const std::string role_;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  std::multimap<Measured, Family> families_;
  std::unordered_map<std::string, Series> series_;  // by family and values of labels
  std::map<std::pair<Owner, std::string>, std::vector<std::string>> owned_;
};

class QueueMetrics::Collector final : public prometheus::Collectable {
 public:
  Collector(bool elects_leader, Read read, std::shared_ptr<const Recorder> recorder)
      : elects_leader_(elects_leader), read_(std::move(read)), recorder_(std::move(recorder)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families = recorder_->collect();
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
  const std::shared_ptr<const Recorder> recorder_;
};

QueueMetrics::QueueMetrics(bool elects_leader, Read read)
    : recorder_(std::make_shared<Recorder>(elects_leader ? "leader" : "standalone")),
      collector_(std::make_shared<Collector>(elects_leader, std::move(read), recorder_)) {}
QueueMetrics::~QueueMetrics() = default;

void QueueMetrics::record(const Measurement& measurement) {
  recorder_->record(measurement);
}

std::shared_ptr<prometheus::Collectable> QueueMetrics::collectable() const {
  return collector_;
}

}  // namespace muster
