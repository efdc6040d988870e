// What muster measures, as values: reconcilers attach measurements to their writes, the engine forwards them after the
// write has succeeded, and server/metrics/queue_metrics.h adds them up for Prometheus. Gauges are read from the
// engine's state at each scrape.
//
// Names and labels of the families are Kueue's; docs/metrics.md has the whole table. A new
// measurement is an enumerator here, a line in state/metrics/measurements.cpp that makes it
// and a row of the table in server/metrics/queue_series.cpp that shows it. A new gauge is an
// enumerator, a line in state/metrics/queue_gauges.cpp and a row in server/metrics/queue_metrics.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class Measured {
  kAdmissionAttempt,    // `reason`: kAttemptSuccess or kAttemptInadmissible; `seconds`: of deciding
  kQuotaReserved,       // `seconds`: since it was created or requeued
  kAdmitted,            // the same; `cohorts`: above its ClusterQueue
  kChecksPassed,        // admitted, and it has checks; `seconds`: since its reservation
  kReady,               // `seconds`: since it was created or requeued
  kReadySinceAdmitted,  // `seconds`: since its admission
  kRecovered,           // ready again; `seconds`: since a pod was not
  kEvicted,             // `reason`, `cause`
  kEvictedFirst,        // the first time for this reason and cause
  kEvictedWhileReady,   // `reason`, `cause`; `seconds`: since its pods were ready
  kEvictionOver,        // `reason`; `seconds`: from its eviction to the end of its reservation
  kPreempted,           // `cluster_queue`: the preemptor's; `reason`
  kFlavorFallback,      // a flavor has failed for a Workload: `flavor`, `reason`: the trigger
  kFinished,
  kExecuted,         // finished; `seconds`: all the time that it was admitted
  kWorkloadCreated,  // `kind`: of its job; `seconds`: since the job was created
  kPodUngated,       // `gate`, `of_group`; `seconds`: since the admission of its Workload

  kJobSetCompleted,  // `ns`, `jobset`
  kJobSetFailed,     // the same
  kJobSetTooLate,    // the same: failed by spec.activeDeadlineSeconds

  // Their series end, so that a queue of the same name starts at zero.
  kClusterQueueGone,  // `cluster_queue`
  kLocalQueueGone,    // `ns`, `local_queue`
  kCohortGone,        // `cohorts`: its name
  kJobSetGone,        // `ns`, `jobset`
};

inline constexpr const char* kAttemptSuccess = "success";
inline constexpr const char* kAttemptInadmissible = "inadmissible";

struct Measurement {
  Measured what = Measured::kAdmissionAttempt;
  std::string cluster_queue{};  // empty: none of which there are metrics
  std::string ns{};
  std::string local_queue{};  // empty: the same
  std::string jobset{};
  std::string priority_class{};
  std::string reason{};
  std::string cause{};
  std::string flavor{};  // of the ClusterQueue
  std::string kind{};
  std::string gate{};
  bool of_group = false;
  std::vector<std::string> cohorts{};
  double seconds = 0;

  bool operator==(const Measurement&) const = default;
};

// Families of gauges, with the names of their labels.
enum class Gauge {
  kPendingWorkloads,          // cluster_queue, status
  kReservingWorkloads,        // cluster_queue
  kAdmittedWorkloads,         // cluster_queue
  kFinishedWorkloads,         // cluster_queue
  kUnadmittedWorkloads,       // cluster_queue, reason, underlying_cause
  kClusterQueueStatus,        // cluster_queue, status
  kClusterQueueInfo,          // cluster_queue, parent_cohort, root_cohort
  kClusterQueueShare,         // cluster_queue, cohort
  kPreemptionSkips,           // cluster_queue
  kResourceReservation,       // cohort, cluster_queue, flavor, resource
  kResourceUsage,             // the same
  kNominalQuota,              // the same
  kBorrowingLimit,            // the same
  kLendingLimit,              // the same
  kResourcePending,           // cluster_queue, resource
  kCohortInfo,                // cohort, parent_cohort, root_cohort
  kCohortShare,               // cohort
  kCohortQuota,               // cohort, flavor, resource
  kCohortReservations,        // cohort, flavor, resource
  kCohortAdmitted,            // cohort
  kCohortPending,             // cohort, status
  kLocalPendingWorkloads,     // name, namespace, status
  kLocalReservingWorkloads,   // name, namespace
  kLocalAdmittedWorkloads,    // name, namespace
  kLocalFinishedWorkloads,    // name, namespace
  kLocalUnadmittedWorkloads,  // name, namespace, cluster_queue, reason, underlying_cause
  kLocalQueueStatus,          // name, namespace, active
  kLocalResourceReservation,  // name, namespace, flavor, resource
  kLocalResourceUsage,        // the same
  kUnsupportedObjects,        // kind, what
  kKeptBytes,                 // kind
  kLargestNamespaceBytes,     // namespace
  kResourceSeconds,           // cluster_queue, namespace, flavor, resource; a counter that is read as gauges are
};

inline constexpr size_t kGauges = static_cast<size_t>(Gauge::kResourceSeconds) + 1;

struct GaugeLabel {
  const char* name;  // a literal: "cluster_queue"
  std::string value;

  bool operator==(const GaugeLabel& other) const {
    return std::string_view(name) == other.name && value == other.value;
  }
};
using GaugeLabels = std::vector<GaugeLabel>;

struct GaugeReading {
  Gauge gauge;
  GaugeLabels labels;  // those of its family; as they are shown
  double value;

  bool operator==(const GaugeReading&) const = default;
};

// All gauges of one moment.
struct GaugeReadings {
  bool leads = false;  // of this replica
  std::vector<GaugeReading> gauges{};
};

}  // namespace muster
