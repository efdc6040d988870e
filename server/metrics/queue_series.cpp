#include "server/metrics/queue_series.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/shared_text.h"

namespace muster::server {
namespace {

using prometheus::Histogram;
using prometheus::Labels;

// Whose series it is: it ends with its owner.
enum class Owner : size_t { kNobody, kClusterQueue, kPreemptor, kLocalQueue, kCohort, kJobSet };
// Labels in addition to the labels that name the owner.
enum LabelSet : unsigned {
  kNone = 0,
  kResult = 1,
  kClass = 2,
  kReason = 4,
  kCause = 8,
  kFlavor = 16,
  kKind = 32,
  kGate = 64
};

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
     "Batches of events after which Workloads were evaluated, by whether one of them got quota."},
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
    {Measured::kRecovered, Owner::kClusterQueue, "kueue_workload_recovery_wait_time_seconds", Buckets::kWait, kClass,
     "From the moment at which a pod was not ready any more until all pods were ready again."},
    {Measured::kRecovered, Owner::kLocalQueue, "kueue_local_queue_workload_recovery_wait_time_seconds", Buckets::kWait,
     kClass, "From the moment at which a pod was not ready any more until all were ready again, by LocalQueue."},

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
    {Measured::kFlavorFallback, Owner::kClusterQueue, "muster_flavor_fallbacks_total", Buckets::kCount, kFlavor,
     "Flavors that have failed for a Workload, by what made them fail."},

    {Measured::kFinished, Owner::kClusterQueue, "kueue_finished_workloads_total", Buckets::kCount, kClass,
     "Workloads that have finished."},
    {Measured::kFinished, Owner::kLocalQueue, "kueue_local_queue_finished_workloads_total", Buckets::kCount, kClass,
     "Workloads that have finished, by LocalQueue."},
    {Measured::kExecuted, Owner::kClusterQueue, "kueue_execution_time_seconds", Buckets::kWait, kClass,
     "How long a finished Workload was admitted, all its admissions together."},
    {Measured::kExecuted, Owner::kLocalQueue, "kueue_local_queue_execution_time_seconds", Buckets::kWait, kClass,
     "How long a finished Workload was admitted, all its admissions together, by LocalQueue."},

    {Measured::kWorkloadCreated, Owner::kNobody, "kueue_workload_creation_latency_seconds", Buckets::kWait, kKind,
     "From the creation of a job until its Workload was created, by the kind of the job."},
    {Measured::kPodUngated, Owner::kClusterQueue, "kueue_pod_scheduling_gate_removal_seconds", Buckets::kWait, kGate,
     "From admission until muster removed the scheduling gate of a pod, by gate and by whether pods form a group."},

    {Measured::kJobSetCompleted, Owner::kJobSet, "jobset_completed_total", Buckets::kCount, kNone,
     "JobSets that have completed, where muster runs them; a series ends with its JobSet."},
    {Measured::kJobSetFailed, Owner::kJobSet, "jobset_failed_total", Buckets::kCount, kNone,
     "JobSets that have failed, where muster runs them; a series ends with its JobSet."},
    {Measured::kJobSetTooLate, Owner::kJobSet, "jobset_active_deadline_exceeded_total", Buckets::kCount, kNone,
     "JobSets that have failed because they ran longer than spec.activeDeadlineSeconds; a series ends with its "
     "JobSet."},
};

Histogram::BucketBoundaries boundaries(Buckets buckets) {
  if (buckets == Buckets::kAttempt) return {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  Histogram::BucketBoundaries bounds = {1};
  const size_t count = buckets == Buckets::kAdmission ? 16 : 14;
  for (double bound = 2.5; bounds.size() < count; bound *= 2) bounds.push_back(bound);
  return bounds;
}

}  // namespace

class QueueSeries::Recorder {
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
      case Measured::kJobSetGone:
        return end(Owner::kJobSet, jobset_name(measurement));
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
    SharedText priority_class, reason, cause, flavor, kind, gate;
    bool of_group = false;
    prometheus::Counter* counter = nullptr;
    Histogram* histogram = nullptr;

    // As far as it has such labels.
    bool is_of(const Measurement& measurement) const {
      const unsigned labels = family->row->labels;
      return ((labels & kClass) == 0 || priority_class == measurement.priority_class) &&
             ((labels & (kReason | kResult | kFlavor)) == 0 || reason == measurement.reason) &&
             ((labels & kFlavor) == 0 || flavor == measurement.flavor) &&
             ((labels & kKind) == 0 || kind == measurement.kind) &&
             ((labels & kGate) == 0 || (gate == measurement.gate && of_group == measurement.of_group)) &&
             ((labels & kCause) == 0 || cause == measurement.cause);
    }
  };

  static std::string local_name(const Measurement& measurement) {
    return measurement.ns + "/" + measurement.local_queue;
  }

  static std::string jobset_name(const Measurement& measurement) { return measurement.ns + "/" + measurement.jobset; }

  // Names of the owner; empty if the measurement does not name the owner.
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
      case Owner::kJobSet:
        return unless_empty(measurement.jobset, jobset_name(measurement));
    }
    return {};
  }

  Labels labels_of(const Row& row, const std::string& owner, const Measurement& measurement) const {
    Labels labels = {{"replica_role", role_}};
    if (row.owner == Owner::kClusterQueue) labels["cluster_queue"] = owner;
    if (row.owner == Owner::kPreemptor) labels["preempting_cluster_queue"] = owner;
    if (row.owner == Owner::kCohort) labels["cohort"] = owner;
    if (row.owner == Owner::kLocalQueue) {
      labels["name"] = measurement.local_queue;
      labels["namespace"] = measurement.ns;
    }
    if (row.owner == Owner::kJobSet) {
      labels["jobset_name"] = measurement.jobset;
      labels["namespace"] = measurement.ns;
    }
    if (row.labels & kResult) labels["result"] = measurement.reason;
    if (row.labels & kReason) labels["reason"] = measurement.reason;
    if (row.labels & kCause) labels["underlying_cause"] = measurement.cause;
    if (row.labels & kFlavor) {
      labels["flavor"] = measurement.flavor;
      labels["trigger"] = measurement.reason;
    }
    if (row.labels & kKind) labels["job_kind"] = measurement.kind;
    if (row.labels & kGate) {
      labels["name"] = measurement.gate;
      labels["is_group"] = measurement.of_group ? "true" : "false";
    }
    if (row.labels & kClass) labels["priority_class"] = measurement.priority_class;
    return labels;
  }

  const Series& series_of(const Family& family, const std::string& owner, const Measurement& measurement) {
    std::vector<Series>& all = owned(family.row->owner)[owner];
    const auto known = std::find_if(all.begin(), all.end(), [&](const Series& series) {
      return series.family == &family && series.is_of(measurement);
    });
    if (known != all.end()) return *known;
    Series& made = all.emplace_back(Series{.family = &family,
                                           .priority_class = measurement.priority_class,
                                           .reason = measurement.reason,
                                           .cause = measurement.cause,
                                           .flavor = measurement.flavor,
                                           .kind = measurement.kind,
                                           .gate = measurement.gate,
                                           .of_group = measurement.of_group});
    const Labels labels = labels_of(*family.row, owner, measurement);
    if (family.counters != nullptr)
      made.counter = &family.counters->Add(labels);
    else
      made.histogram = &family.histograms->Add(labels, boundaries(family.row->buckets));
    return made;
  }

  void add(const Family& family, const std::string& owner, const Measurement& measurement) {
    const Series& series = series_of(family, owner, measurement);
    if (series.counter != nullptr)
      series.counter->Increment();
    else
      series.histogram->Observe(measurement.seconds);
  }

  void end(Owner owner, const std::string& name) {
    const auto ended = owned(owner).find(name);
    if (ended == owned(owner).end()) return;
    for (const Series& series : ended->second) {
      if (series.counter != nullptr)
        series.family->counters->Remove(series.counter);
      else
        series.family->histograms->Remove(series.histogram);
    }
    owned(owner).erase(ended);
  }

  // By name. A queue has few: they are looked through.
  using Owned = std::unordered_map<std::string, std::vector<Series>>;
  Owned& owned(Owner owner) { return owned_[static_cast<size_t>(owner)]; }

  const std::string role_;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  std::multimap<Measured, Family> families_;
  std::array<Owned, static_cast<size_t>(Owner::kJobSet) + 1> owned_;
};

QueueSeries::QueueSeries(std::string role) : recorder_(std::make_unique<Recorder>(std::move(role))) {}
QueueSeries::~QueueSeries() = default;

void QueueSeries::record(const Measurement& measurement) {
  recorder_->record(measurement);
}

std::vector<prometheus::MetricFamily> QueueSeries::collect() const {
  return recorder_->collect();
}

}  // namespace muster::server
