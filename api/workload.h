// A Workload (kueue.x-k8s.io/v1beta2): what a job asks of the queues, and where it
// stands. Immutable once read, and shared.
//
// Lists of the status are written whole, so everything in them is kept here. What muster
// refuses to work with (topology, other clusters) is not.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/admission.h"
#include "api/flavor_fallback.h"
#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/pod_set.h"
#include "api/priority_class_ref.h"
#include "api/tolerations.h"
#include "api/workload_conditions.h"
#include "base/clock.h"

namespace muster {

// The changes of an admission check to the pods of one pod set.
struct PodSetUpdate {
  std::string name;
  Labels labels;
  Labels annotations;
  Labels node_selector;
  std::vector<Toleration> tolerations;

  bool operator==(const PodSetUpdate&) const = default;
};
struct AdmissionCheckState {
  std::string name;
  std::string state;  // "Pending", "Ready", "Retry" or "Rejected"
  std::string message;
  Timestamp last_transition;
  std::optional<int32_t> requeue_after_seconds;
  std::optional<int32_t> retry_count;
  std::vector<PodSetUpdate> pod_set_updates;

  bool operator==(const AdmissionCheckState&) const = default;
};

struct RequeueState {
  std::optional<int32_t> count;  // evictions for pods that were not ready
  Timestamp requeue_at;          // zero: not waiting
  // muster's own: when the Workload was first admitted since it was last activated.
  Timestamp first_admitted_at;

  bool operator==(const RequeueState&) const = default;
};

struct EvictionCount {
  std::string reason;
  std::string underlying_cause;
  int32_t count = 0;

  bool operator==(const EvictionCount&) const = default;
};

struct WorkloadStatus {
  Conditions conditions;
  std::optional<Admission> admission;
  std::vector<AdmissionCheckState> admission_checks;
  std::optional<RequeueState> requeue_state;
  std::vector<ReclaimablePod> reclaimable_pods;
  std::vector<EvictionCount> evictions;  // schedulingStats.evictions
  int32_t accumulated_past_execution_seconds = 0;
  FlavorHistory flavors;  // flavorAssignmentHistory and flavorFallback

  bool operator==(const WorkloadStatus&) const = default;
};

struct Workload {
  ObjectMeta meta;
  // JSON text of metadata.ownerReferences, of the Workload of a pod group: each of its pods is one. Else empty.
  std::string group_owners_text;
  std::string queue_name;
  bool active = true;
  int32_t priority = 0;  // 0 when it is not set
  std::optional<PriorityClassRef> priority_class;
  std::optional<int32_t> maximum_execution_seconds;
  std::vector<PodSet> pod_sets;
  WorkloadStatus status;

  const PodSet* find(std::string_view pod_set) const;
  bool is_true(std::string_view condition) const { return condition_is_true(status.conditions, condition); }
  bool has_quota_reserved() const { return is_true(kQuotaReservedCondition); }
  bool admitted() const { return is_true(kAdmittedCondition); }
  bool evicted() const { return is_true(kEvictedCondition); }
  bool finished() const { return is_true(kFinishedCondition); }
  // Of a group of pods, which has no controller.
  bool of_pod_group() const { return !group_owners_text.empty(); }
};

// What spec.maximumExecutionTimeSeconds leaves to a Workload that is admitted for `admitted_for` now: without this time
// and that of earlier admissions. Zero or less: it is over. nullopt: there is no limit.
std::optional<Duration> execution_time_left(const Workload& workload, Duration admitted_for);

WorkloadPtr read_workload(const nlohmann::json& object);
// The parts of a status as the API server stores them, for merge patches: what is empty
// in `status` and not in `before` is null, what is equal in both is left out.
nlohmann::json status_patch(const WorkloadStatus& before, const WorkloadStatus& status);

}  // namespace muster
