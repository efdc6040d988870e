#include "state/decision_log.h"

#include <algorithm>

#include "api/meta/names.h"

namespace muster::state {
namespace {

using Fields = std::vector<std::pair<const char*, std::string>>;

bool became_true(const Workload& workload, const WorkloadStatus& after, std::string_view type) {
  return condition_is_true(after.conditions, type) && !condition_is_true(workload.status.conditions, type);
}

// "on-demand, spot": each once.
std::string flavors_text(const Admission& admission) {
  std::vector<std::string> flavors = assigned_flavors(admission);
  std::sort(flavors.begin(), flavors.end());
  return join(flavors, ", ");
}

Fields subject(const Workload& workload, const std::optional<Admission>& admission) {
  Fields fields = {{"workload", workload.meta.ns + "/" + workload.meta.name}, {"localQueue", workload.queue_name}};
  if (workload.meta.controller)
    fields.emplace_back("job", workload.meta.ns + "/" + std::string(workload.meta.controller->kind) + "/" +
                                   std::string(workload.meta.controller->name));
  if (!admission) return fields;
  fields.emplace_back("clusterQueue", admission->cluster_queue);
  fields.emplace_back("flavors", flavors_text(*admission));
  return fields;
}

// Of conditions that are true in `after`.
void add_cause(Fields& fields, const WorkloadStatus& after, std::string_view type) {
  const Condition* condition = find_condition(after.conditions, type);
  fields.emplace_back("reason", condition->reason);
  fields.emplace_back("message", condition->message);
}

void add_attempt(Fields& fields, const WorkloadStatus& after) {
  if (after.requeue_state && after.requeue_state->count)
    fields.emplace_back("attempt", std::to_string(*after.requeue_state->count));
}

LoggedDecision eviction_of(const Workload& workload, const WorkloadStatus& after) {
  const Condition* evicted = find_condition(after.conditions, kEvictedCondition);
  const bool preempted = evicted->reason == kPreemptedReason;
  LoggedDecision decision{preempted ? "workload preempted" : "workload evicted",
                          subject(workload, workload.status.admission)};
  add_cause(decision.fields, after, preempted ? kPreemptedCondition : kEvictedCondition);
  add_attempt(decision.fields, after);
  return decision;
}

}  // namespace

std::vector<LoggedDecision> decisions_of(const Workload& workload, const WorkloadStatus& after) {
  std::vector<LoggedDecision> decisions;
  if (became_true(workload, after, kQuotaReservedCondition))
    decisions.push_back({"quota reserved", subject(workload, after.admission)});
  if (became_true(workload, after, kAdmittedCondition))
    decisions.push_back({"workload admitted", subject(workload, after.admission)});
  if (became_true(workload, after, kEvictedCondition)) decisions.push_back(eviction_of(workload, after));
  const Condition* requeued = find_condition(after.conditions, kRequeuedCondition);
  if (requeued != nullptr && became_true(workload, after, kRequeuedCondition)) {
    LoggedDecision decision{"workload requeued", subject(workload, std::nullopt)};
    add_cause(decision.fields, after, kRequeuedCondition);
    add_attempt(decision.fields, after);
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

LoggedDecision deactivation_of(const Workload& workload) {
  LoggedDecision decision{"workload deactivated", subject(workload, workload.status.admission)};
  if (workload.is_true(kDeactivationTargetCondition))
    add_cause(decision.fields, workload.status, kDeactivationTargetCondition);
  return decision;
}

}  // namespace muster::state
