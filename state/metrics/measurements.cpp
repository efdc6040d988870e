#include "state/metrics/measurements.h"

#include <algorithm>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "api/texts/reason_label.h"
#include "api/workload_conditions.h"
#include "state/cohorts_above.h"
#include "state/queues_of.h"

namespace muster::state {
namespace {

// 0 if a time is not set.
double seconds_between(Timestamp from, Timestamp to) {
  if (from.is_zero() || to.is_zero()) return 0;
  const Duration passed = time_between(to_time_point(from), to_time_point(to));
  return std::max(std::chrono::duration<double>(passed).count(), 0.0);
}

// One change of a status, as it is read for measuring.
class StatusChange {
 public:
  StatusChange(const Workload& workload, const WorkloadStatus& after) : workload_(workload), after_(after) {}

  std::vector<Measurement> measure() {
    if (became_true(kQuotaReservedCondition)) add(Measured::kQuotaReserved).seconds = waited(kQuotaReservedCondition);
    if (became_true(kAdmittedCondition)) measure_admission();
    if (became_true(kPodsReadyCondition) && is_true(after_, kAdmittedCondition)) measure_readiness();
    measure_evictions();
    if (became_true(kFinishedCondition)) measure_end();
    return std::move(measurements_);
  }

 private:
  static bool is_true(const WorkloadStatus& status, std::string_view type) {
    return condition_is_true(status.conditions, type);
  }
  bool became_true(std::string_view type) const { return is_true(after_, type) && !is_true(workload_.status, type); }
  // The last change of a condition that exists after the change.
  Timestamp stamp(std::string_view type) const { return find_condition(after_.conditions, type)->last_transition; }
  // Since it was created or last requeued.
  double waited(std::string_view until) const {
    const Condition* requeued = find_condition(after_.conditions, kRequeuedCondition);
    return seconds_between(requeued == nullptr ? workload_.meta.created : requeued->last_transition, stamp(until));
  }

  Measurement& add(Measured what) {
    const auto& admission = workload_.status.admission ? workload_.status.admission : after_.admission;
    return measurements_.emplace_back(
        Measurement{.what = what,
                    .cluster_queue = admission ? admission->cluster_queue : "",
                    .ns = workload_.meta.ns,
                    .local_queue = workload_.queue_name,
                    .priority_class = workload_.priority_class ? workload_.priority_class->name : ""});
  }

  void measure_admission() {
    add(Measured::kAdmitted).seconds = waited(kAdmittedCondition);
    if (after_.admission_checks.empty() || !is_true(after_, kQuotaReservedCondition)) return;
    add(Measured::kChecksPassed).seconds = seconds_between(stamp(kQuotaReservedCondition), stamp(kAdmittedCondition));
  }

  // The first start after an admission counts: no recovery, and no later part of a job that starts in stages.
  void measure_readiness() {
    const Condition* before = find_condition(workload_.status.conditions, kPodsReadyCondition);
    const bool recovers = before != nullptr && before->reason == kWaitForRecoveryReason;
    if (recovers)
      add(Measured::kRecovered).seconds = seconds_between(before->last_transition, stamp(kPodsReadyCondition));
    if (recovers || (before != nullptr && before->reason == kWaitForNextPartReason)) return;
    add(Measured::kReady).seconds = waited(kPodsReadyCondition);
    add(Measured::kReadySinceAdmitted).seconds = seconds_between(stamp(kAdmittedCondition), stamp(kPodsReadyCondition));
  }

  void measure_evictions() {
    if (!workload_.status.admission) return;
    for (const EvictionCount& eviction : after_.evictions) {
      const int32_t before = count_before(eviction);
      if (eviction.count <= before || !is_true(after_, kEvictedCondition)) continue;
      const auto add_eviction = [&](Measured what) -> Measurement& {
        Measurement& added = add(what);
        added.reason = eviction.reason;
        added.cause = eviction.underlying_cause;
        return added;
      };
      add_eviction(Measured::kEvicted);
      if (before == 0) add_eviction(Measured::kEvictedFirst);
      if (!is_true(workload_.status, kPodsReadyCondition)) continue;
      const Condition* ready = find_condition(workload_.status.conditions, kPodsReadyCondition);
      add_eviction(Measured::kEvictedWhileReady).seconds =
          seconds_between(ready->last_transition, stamp(kEvictedCondition));
    }
    const bool released = workload_.has_quota_reserved() && !is_true(after_, kQuotaReservedCondition);
    if (!released || !is_true(after_, kEvictedCondition)) return;
    Measurement& over = add(Measured::kEvictionOver);
    over.reason = find_condition(after_.conditions, kEvictedCondition)->reason;
    over.seconds = seconds_between(stamp(kEvictedCondition), stamp(kQuotaReservedCondition));
  }

  int32_t count_before(const EvictionCount& eviction) const {
    for (const EvictionCount& known : workload_.status.evictions) {
      if (known.reason == eviction.reason && known.underlying_cause == eviction.underlying_cause) return known.count;
    }
    return 0;
  }

  void measure_end() {
    add(Measured::kFinished);
    double executed = after_.accumulated_past_execution_seconds;
    if (is_true(after_, kAdmittedCondition))
      executed += seconds_between(stamp(kAdmittedCondition), stamp(kFinishedCondition));
    else if (executed == 0)
      return;
    add(Measured::kExecuted).seconds = executed;
  }

  const Workload& workload_;
  const WorkloadStatus& after_;
  std::vector<Measurement> measurements_;
};

// A Cohort exists if it has an object, or if other objects name it.
bool cohort_exists(const ClusterState& state, std::string_view name) {
  if (state.find<Cohort>(name) != nullptr) return true;
  const auto joins = [&](const TypedObject& object) { return std::get<ClusterQueuePtr>(object)->cohort == name; };
  const auto is_below = [&](const TypedObject& object) { return std::get<CohortPtr>(object)->parent == name; };
  return !state.select(kClusterQueues, joins).empty() || !state.select(kCohorts, is_below).empty();
}

void end_cohort(const std::string& name, const ClusterState& state, std::vector<Measurement>& measurements) {
  if (name.empty() || cohort_exists(state, name)) return;
  measurements.push_back({.what = Measured::kCohortGone, .cohorts = {name}});
}

}  // namespace

std::vector<Measurement> measurements_of(const Workload& workload, const WorkloadStatus& after) {
  return StatusChange(workload, after).measure();
}

Measurement preemption_by(const Workload& preemptor, std::string_view reason, const ClusterState& state) {
  return {.what = Measured::kPreempted,
          .cluster_queue = queues_of(preemptor, state).cluster_name,
          .reason = std::string(reason)};
}

std::vector<Measurement> creation_of_workload(std::string_view kind, const ObjectMeta& job, const RuleSettings& rules,
                                              Timestamp now) {
  if (job.generation > 1 || !rules.enabled(Gate::kMetricForWorkloadCreationLatency)) return {};
  return {
      {.what = Measured::kWorkloadCreated, .kind = std::string(kind), .seconds = seconds_between(job.created, now)}};
}

Measurement removal_of_gate(std::string_view gate, const Workload& workload, Timestamp now) {
  const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
  return {.what = Measured::kPodUngated,
          .cluster_queue = workload.status.admission ? workload.status.admission->cluster_queue : "",
          .gate = std::string(gate),
          .of_group = workload.of_pod_group(),
          .seconds = admitted == nullptr ? 0 : seconds_between(admitted->last_transition, now)};
}

bool is_measured(const LocalQueue& queue, const QueueSettings& settings) {
  return settings.rules.enabled(Gate::kLocalQueueMetrics) && settings.metrics.local_queues &&
         settings.metrics.local_queue_selector.matches(queue.meta.labels);
}

void complete(Measurement& measurement, const ClusterState& state, const QueueSettings& settings) {
  measurement.reason = reason_label(measurement.reason);
  measurement.cause = reason_label(measurement.cause);
  const std::string& class_name = measurement.priority_class;
  if (!class_name.empty() && state.find<PriorityClass>(kWorkloadPriorityClasses, "", class_name) == nullptr &&
      state.find<PriorityClass>(kPriorityClasses, "", class_name) == nullptr)
    measurement.priority_class = "other";
  const LocalQueue* local = state.find<LocalQueue>(measurement.ns, measurement.local_queue);
  // A Workload that never had quota ends in the queue that it waited in.
  if (local != nullptr && measurement.cluster_queue.empty()) measurement.cluster_queue = local->cluster_queue;
  if (local == nullptr || !is_measured(*local, settings)) measurement.local_queue.clear();
  const ClusterQueue* queue = state.find<ClusterQueue>(measurement.cluster_queue);
  if (queue == nullptr)
    measurement.cluster_queue.clear();
  else if (measurement.what == Measured::kAdmitted && settings.rules.enabled(Gate::kMetricsForCohorts))
    measurement.cohorts = cohorts_above(*queue, state).names;
}

void note_ended_series(const TypedObject& before, const ClusterState& state, const QueueSettings& settings,
                       std::vector<Measurement>& measurements) {
  const ObjectMeta& meta = meta_of(before);
  if (const auto* queue = std::get_if<ClusterQueuePtr>(&before)) {
    const ClusterQueue* present = state.find<ClusterQueue>(meta.name);
    if (present == nullptr) measurements.push_back({.what = Measured::kClusterQueueGone, .cluster_queue = meta.name});
    if (present == nullptr || present->cohort != (*queue)->cohort) end_cohort((*queue)->cohort, state, measurements);
  } else if (std::holds_alternative<LocalQueuePtr>(before)) {
    const LocalQueue* present = state.find<LocalQueue>(meta.ns, meta.name);
    if (present == nullptr || !is_measured(*present, settings))
      measurements.push_back({.what = Measured::kLocalQueueGone, .ns = meta.ns, .local_queue = meta.name});
  } else if (const auto* cohort = std::get_if<CohortPtr>(&before)) {
    const Cohort* present = state.find<Cohort>(meta.name);
    // Also if ClusterQueues still name the Cohort: as in Kueue, the counts end with the object.
    if (present == nullptr) measurements.push_back({.what = Measured::kCohortGone, .cohorts = {meta.name}});
    if (present == nullptr || present->parent != (*cohort)->parent) end_cohort((*cohort)->parent, state, measurements);
  } else if (std::holds_alternative<JobSetPtr>(before) && state.find<JobSet>(meta.ns, meta.name) == nullptr) {
    measurements.push_back({.what = Measured::kJobSetGone, .ns = meta.ns, .jobset = meta.name});
  }
}

}  // namespace muster::state
