// Measurements as text, for tests: "Evicted cq team-a/lq class=high PodsReadyTimeout/WaitForStart 3s".
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "api/measurement.h"

namespace muster::test {

inline std::string to_text(const Measurement& measurement) {
  static constexpr const char* kNames[] = {
      "AdmissionAttempt",   "QuotaReserved",    "Admitted",       "ChecksPassed",      "Ready",
      "ReadySinceAdmitted", "Evicted",          "EvictedFirst",   "EvictedWhileReady", "EvictionOver",
      "Preempted",          "FlavorFallback",   "Finished",       "Executed",          "JobSetCompleted",
      "JobSetFailed",       "ClusterQueueGone", "LocalQueueGone", "CohortGone",        "JobSetGone"};
  std::ostringstream text;
  text << kNames[static_cast<size_t>(measurement.what)];
  if (!measurement.cluster_queue.empty()) text << " " << measurement.cluster_queue;
  if (!measurement.local_queue.empty()) text << " " << measurement.ns << "/" << measurement.local_queue;
  if (!measurement.jobset.empty()) text << " " << measurement.ns << "/" << measurement.jobset;
  if (!measurement.priority_class.empty()) text << " class=" << measurement.priority_class;
  if (!measurement.reason.empty()) text << " " << measurement.reason;
  if (!measurement.cause.empty()) text << "/" << measurement.cause;
  for (const std::string& cohort : measurement.cohorts) text << " ^" << cohort;
  if (measurement.seconds != 0) text << " " << measurement.seconds << "s";
  return text.str();
}

inline std::vector<std::string> to_texts(const std::vector<Measurement>& measurements) {
  std::vector<std::string> texts;
  for (const Measurement& measurement : measurements) texts.push_back(to_text(measurement));
  return texts;
}

}  // namespace muster::test
