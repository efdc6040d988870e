// Measurements as text, for tests: "Evicted cq team-a/lq class=high PodsReadyTimeout/WaitForStart 3s".
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "api/measurement.h"

namespace muster::test {

inline const char* measured_name(Measured what) {
  switch (what) {
    case Measured::kAdmissionAttempt:
      return "AdmissionAttempt";
    case Measured::kQuotaReserved:
      return "QuotaReserved";
    case Measured::kAdmitted:
      return "Admitted";
    case Measured::kChecksPassed:
      return "ChecksPassed";
    case Measured::kReady:
      return "Ready";
    case Measured::kReadySinceAdmitted:
      return "ReadySinceAdmitted";
    case Measured::kRecovered:
      return "Recovered";
    case Measured::kEvicted:
      return "Evicted";
    case Measured::kEvictedFirst:
      return "EvictedFirst";
    case Measured::kEvictedWhileReady:
      return "EvictedWhileReady";
    case Measured::kEvictionOver:
      return "EvictionOver";
    case Measured::kPreempted:
      return "Preempted";
    case Measured::kFlavorFallback:
      return "FlavorFallback";
    case Measured::kFinished:
      return "Finished";
    case Measured::kExecuted:
      return "Executed";
    case Measured::kWorkloadCreated:
      return "WorkloadCreated";
    case Measured::kPodUngated:
      return "PodUngated";
    case Measured::kJobSetCompleted:
      return "JobSetCompleted";
    case Measured::kJobSetFailed:
      return "JobSetFailed";
    case Measured::kJobSetTooLate:
      return "JobSetTooLate";
    case Measured::kClusterQueueGone:
      return "ClusterQueueGone";
    case Measured::kLocalQueueGone:
      return "LocalQueueGone";
    case Measured::kCohortGone:
      return "CohortGone";
    case Measured::kJobSetGone:
      return "JobSetGone";
  }
  return "";
}

inline std::string measured_line(const Measurement& measurement) {
  std::ostringstream text;
  text << measured_name(measurement.what);
  if (!measurement.cluster_queue.empty()) text << " " << measurement.cluster_queue;
  if (!measurement.local_queue.empty()) text << " " << measurement.ns << "/" << measurement.local_queue;
  if (!measurement.jobset.empty()) text << " " << measurement.ns << "/" << measurement.jobset;
  if (!measurement.priority_class.empty()) text << " class=" << measurement.priority_class;
  if (!measurement.reason.empty()) text << " " << measurement.reason;
  if (!measurement.cause.empty()) text << "/" << measurement.cause;
  if (!measurement.kind.empty()) text << " kind=" << measurement.kind;
  if (!measurement.gate.empty()) text << " gate=" << measurement.gate;
  if (measurement.of_group) text << " group";
  for (const std::string& cohort : measurement.cohorts) text << " ^" << cohort;
  if (measurement.seconds != 0) text << " " << measurement.seconds << "s";
  return text.str();
}

inline std::vector<std::string> to_texts(const std::vector<Measurement>& measurements) {
  std::vector<std::string> texts;
  for (const Measurement& measurement : measurements) texts.push_back(measured_line(measurement));
  return texts;
}

}  // namespace muster::test
