// A batch/v1 Job, as far as muster reads it. Immutable once read, and shared.
// Source: k8s.io/api/batch/v1.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/pod_spec.h"

namespace muster {

// The start barrier that the webhook put into a pod template (jobs/group_scheduling.h).
struct Barrier {
  std::string config_map;
  std::string epoch;
  int64_t timeout_seconds = 0;  // the waiter's own argument
  bool suspend_on_timeout = false;

  bool operator==(const Barrier&) const = default;
};
// nullopt when the template has no waiter or no volume of the reserved names.
std::optional<Barrier> read_barrier(const nlohmann::json& pod_template);

// How many pods of a Job run at once before any has succeeded: min(parallelism,
// completions), or parallelism where there are no completions; never negative.
int32_t pods_at_once(int32_t parallelism, std::optional<int64_t> completions);

struct JobStatus {
  int32_t active = 0;
  int32_t ready = 0;
  int32_t succeeded = 0;
  int32_t failed = 0;
  int32_t terminating = 0;
  int32_t uncounted_succeeded = 0;  // ended, and not yet among the succeeded
  std::string completed_indexes;    // "0,2-4"; of Indexed Jobs
  std::string failed_indexes;
  Timestamp start_time;       // zero: never started, or suspended
  Timestamp completion_time;  // zero: not completed
  Conditions conditions;
};

struct Job {
  ObjectMeta meta;
  bool suspended = false;  // spec.suspend
  int32_t parallelism = 1;
  std::optional<int32_t> completions;
  bool indexed = false;  // completionMode: Indexed
  std::string managed_by;
  std::string pod_selector;  // of spec.manualSelector; empty: the API server makes one of the Job's uid
  std::optional<Barrier> barrier;
  // spec is null for a JobSet's Job that is in no queue by itself: it gets no Workload.
  PodTemplate pod_template;
  // What its pods request, of every Job whose controller is a JobSet; null of other Jobs. See read_requests().
  mutable PodSpecPtr requests;
  // JSON texts of these lists of the pod template; empty when there are none. A patch that adds items must write the
  // whole list.
  std::string tolerations_text;
  std::string scheduling_gates_text;
  JobStatus status;

  bool complete() const { return condition_is_true(status.conditions, "Complete"); }
  bool failed() const { return condition_is_true(status.conditions, "Failed"); }
  bool finished() const { return complete() || failed(); }
  // Pods that can still run at once: min(parallelism, completions - succeeded), never
  // negative. A work queue's (no completions) are its parallelism. 0 when finished.
  int32_t pods_expected() const;
};

JobPtr read_job(const nlohmann::json& object);

}  // namespace muster
