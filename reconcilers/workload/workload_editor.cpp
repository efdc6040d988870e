#include "reconcilers/workload/workload_editor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/texts/workload_texts.h"
#include "reconcilers/reconciler.h"
#include "reconcilers/workload/flavor_clock.h"
#include "scheduler/eligibility.h"
#include "state/decision_log.h"
#include "state/metrics/measurements.h"

namespace muster::reconcilers {
namespace {

// The API server's limit for the message of a condition.
constexpr size_t kLongestMessage = 32'768;

bool waits(const WorkloadStatus& status) {
  return !condition_is_true(status.conditions, kQuotaReservedCondition);
}

// Whether only the description of a missing reservation differs, before and after.
bool only_says_why_it_waits(const WorkloadStatus& before, const WorkloadStatus& after) {
  if (!waits(before) || !waits(after)) return false;
  const auto without_words = [](WorkloadStatus status) {
    std::erase_if(status.conditions, [](const Condition& condition) {
      return condition.type == kQuotaReservedCondition || condition.type == kAdmittedCondition;
    });
    return status;
  };
  return without_words(before) == without_words(after);
}

// `kubectl describe` of the job shows why it waits, for users who do not know Workloads: once for each change of the
// reason. The first evaluation is no reason.
void add_event_of_waiting(const Workload& workload, const WorkloadStatus& status, std::vector<ObjectEvent>& events) {
  const auto& job = workload.meta.controller;
  const Condition* waits = find_condition(status.conditions, kQuotaReservedCondition);
  if (!job || !workload.active || waits == nullptr || waits->is_true() || waits->reason == kPendingEvaluationReason)
    return;
  const Condition* before = find_condition(workload.status.conditions, kQuotaReservedCondition);
  if (before != nullptr && !before->is_true() && before->reason == waits->reason) return;
  // Those messages name Workloads of others.
  const bool private_text = waits->reason == kWaitingForPodsReadyReason || names_preemptor(waits->message);
  std::string note = "Waits (" + waits->reason.text() + ")";
  if (!private_text && !waits->message.empty()) note += ": " + waits->message.text();
  events.push_back(event_about(*job, workload.meta.ns, EventReason::kWaits, std::move(note)));
}

}  // namespace

ObjectEvent event_about(const Workload& workload, EventReason reason, std::string note) {
  return event_about_version(kWorkloads, workload.meta, reason, std::move(note));
}

WorkloadEditor::WorkloadEditor(const Workload& workload, const ReconcileContext& context, Stamp stamp)
    : status(workload.status),
      workload_(workload),
      now_(context.now.wall),
      stamp_(stamp == Stamp::kExact ? to_timestamp(context.now.wall) : whole_seconds(context.now.wall)),
      admitted_for_(context.decisions.admitted_for(workload, context.now)) {}

bool WorkloadEditor::set(std::string_view type, bool is_true, std::string_view reason, std::string_view message) {
  return set_condition(status.conditions, {.type = type,
                                           .status = is_true ? "True" : "False",
                                           .reason = reason,
                                           .message = message.substr(0, kLongestMessage),
                                           .last_transition = stamp_,
                                           .observed_generation = workload_.meta.generation});
}

void WorkloadEditor::remove(std::string_view type) {
  std::erase_if(status.conditions, [&](const Condition& condition) { return condition.type == type; });
}

void WorkloadEditor::finish(std::string_view reason, std::string_view message) {
  set(kFinishedCondition, true, reason, message);
}

void WorkloadEditor::set_pods_ready(bool is_true, std::string_view reason, std::string_view message) {
  if (is_true) status.flavors = {};
  set(kPodsReadyCondition, is_true, reason, message);
}

void WorkloadEditor::evict(std::string_view reason, std::string_view cause, const std::string& message) {
  const std::string full_reason = reason == kDeactivatedReason ? deactivated_reason(cause) : std::string(reason);
  stop_flavor_clocks(status, now_);
  set(kEvictedCondition, true, full_reason, message);
  reset_checks();
  count_eviction_of(reason, cause);
  // For a Workload without quota the eviction is not worth an event.
  if (!status.admission) return;
  ObjectEvent event = event_about(workload_, EventReason::kEvictedDueTo, message);
  event.reason += full_reason;
  record_event(std::move(event));
}

void WorkloadEditor::reset_checks() {
  for (AdmissionCheckState& check : status.admission_checks) {
    if (check.state == kCheckPending) continue;
    const bool retried = check.state == kCheckRetry;
    check.message = "Reset to Pending after eviction. Previously: " + check.state;
    check.state = kCheckPending;
    check.last_transition = stamp_;
    check.retry_count = retried ? std::optional(check.retry_count.value_or(0) + 1) : std::nullopt;
    check.pod_set_updates.clear();
  }
}

void WorkloadEditor::count_eviction_of(std::string_view reason, std::string_view cause) {
  for (EvictionCount& eviction : status.evictions) {
    if (eviction.reason != reason || eviction.underlying_cause != cause) continue;
    ++eviction.count;
    return;
  }
  status.evictions.push_back({.reason = std::string(reason), .underlying_cause = std::string(cause), .count = 1});
}

void WorkloadEditor::target_deactivation(std::string_view reason, std::string_view message) {
  set(kDeactivationTargetCondition, true, reason, message);
}

void WorkloadEditor::release(std::string_view reason, std::string_view message) {
  stop_flavor_clocks(status, now_);
  set(kQuotaReservedCondition, false, reason, message);
  status.admission.reset();
  sync_admitted();
}

void WorkloadEditor::release_evicted(const Condition& evicted) {
  // After the last flavor of a round the next round has a time to begin.
  const bool falls_back =
      evicted.reason == kFlavorFallbackReason && (!status.requeue_state || status.requeue_state->requeue_at.is_zero());
  const bool at_once = evicted.reason == kPreemptedReason || evicted.reason == kNodeFailuresReason ||
                       evicted.reason == kQueueChangedReason || falls_back;
  set(kRequeuedCondition, at_once, evicted.reason, evicted.message);
  set(kQuotaReservedCondition, false, kPendingEvaluationReason, evicted.message);
  if (is_true(kAdmittedCondition)) {
    end_execution();
    set(kAdmittedCondition, false, kNoReservationReason, "The workload has no reservation");
  }
  status.admission.reset();
}

// An admission has ended: its time is added, except when all time is used up: then a reactivation starts at zero.
void WorkloadEditor::end_execution() {
  int32_t& accumulated = status.accumulated_past_execution_seconds;
  const Condition* evicted = find(kEvictedCondition);
  if (evicted != nullptr && evicted->is_true() &&
      deactivation_cause(evicted->reason) == kMaximumExecutionTimeExceededReason) {
    accumulated = 0;
    return;
  }
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(admitted_for_).count();
  accumulated = static_cast<int32_t>(std::min<int64_t>(accumulated + seconds, INT32_MAX));
}

void WorkloadEditor::sync_admitted() {
  const bool reserved = is_true(kQuotaReservedCondition);
  const bool ready = std::all_of(status.admission_checks.begin(), status.admission_checks.end(),
                                 [](const AdmissionCheckState& check) { return check.state == kCheckReady; });
  if (reserved && ready) {
    set(kAdmittedCondition, true, kAdmittedReason, "The workload is admitted");
    return;
  }
  if (is_true(kAdmittedCondition)) end_execution();
  if (!reserved)
    set(kAdmittedCondition, false, kNoReservationReason, "The workload has no reservation");
  else
    set(kAdmittedCondition, false, kUnsatisfiedChecksReason, "The workload has not all checks ready");
}

void WorkloadEditor::record_event(EventReason reason, std::string note) {
  record_event(event_about(workload_, reason, std::move(note)));
}

void WorkloadEditor::write_into(Plan& plan) const {
  if (!changed()) return;
  std::vector<ObjectEvent> events = events_;
  add_event_of_waiting(workload_, status, events);
  std::vector<Measurement> measurements = state::measurements_of(workload_, status);
  measurements.insert(measurements.end(), measurements_.begin(), measurements_.end());
  nlohmann::json patch = status_patch(workload_.status, status);
  patch.update(attached_);
  plan.writes.push_back({.verb = Verb::kPatchStatus,
                         .target = key_of(kWorkloads, workload_.meta),
                         .body = with_version(workload_.meta, {{"status", std::move(patch)}}),
                         .events = std::move(events),
                         .measurements = std::move(measurements),
                         .decisions = state::decisions_of(workload_, status),
                         .gives_way = only_says_why_it_waits(workload_.status, status),
                         .for_late_pods = for_late_pods_});
}

}  // namespace muster::reconcilers
