#include "reconcilers/workload/admission.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/jobset.h"
#include "base/overloaded.h"
#include "reconcilers/workload/flavor_clock.h"
#include "reconcilers/workload/flavor_fallback.h"
#include "reconcilers/workload/pods_ready.h"
#include "reconcilers/workload/workload_checks.h"
#include "reconcilers/workload/workload_editor.h"
#include "reconcilers/workload/workload_queues.h"
#include "scheduler/decision.h"
#include "state/metrics/measurements.h"
#include "state/quota_demand.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// Refusals change often while a queue moves. Users who need the reason read it later.
constexpr Duration kRefusalStands = std::chrono::seconds(1);

// The message of an earlier eviction stays in the status.
void end_eviction(WorkloadEditor& editor, std::string_view type) {
  const Condition* condition = editor.find(type);
  if (condition == nullptr || !condition->is_true()) return;
  editor.set(type, false, kQuotaReservedReason, "Previously: " + condition->message);
}

// Since it was created or last requeued.
std::string waited(const WorkloadEditor& editor) {
  const Condition* requeued = editor.find(kRequeuedCondition);
  const Timestamp since = requeued == nullptr ? editor.workload().meta.created : requeued->last_transition;
  const int64_t seconds = to_timestamp(editor.time()).seconds - since.seconds;
  return std::to_string(std::max<int64_t>(seconds, 0)) + "s";
}

// Written together with another write. The status can still have PodsReady of an earlier admission.
void await_pods(WorkloadEditor& editor) {
  editor.set_pods_ready(false, kWaitForStartReason, kNotAllPodsReady);
}

void start_clocks(const ClusterQueue* queue, WorkloadEditor& editor) {
  forget_flavors_when_reactivated(editor);
  if (queue != nullptr && queue->fallback)
    start_flavor_clocks(editor.status, *queue, whole_seconds(editor.time()));
  else
    editor.status.flavors = {};
}

void admit(const scheduler::Admitted& admitted, const ReconcileContext& context, WorkloadEditor& editor) {
  const std::string& queue = admitted.admission.cluster_queue;
  editor.status.admission = admitted.admission;
  const ClusterQueue* cluster_queue = context.state.find<ClusterQueue>(queue);
  start_clocks(cluster_queue, editor);
  editor.set(kQuotaReservedCondition, true, kQuotaReservedReason, "Quota reserved in ClusterQueue " + queue);
  for (std::string_view type : {kEvictedCondition, kPreemptedCondition, kBlockedOnPreemptionGatesCondition})
    end_eviction(editor, type);
  if (cluster_queue != nullptr) sync_checks(editor, *cluster_queue);
  editor.sync_admitted();
  if (context.queues().wait_for_pods_ready || (cluster_queue != nullptr && cluster_queue->fallback)) await_pods(editor);
  editor.attach("resourceRequests", nullptr);  // status.admission says it now
  editor.record_event(EventReason::kQuotaReserved,
                      "Quota reserved in ClusterQueue " + queue + ", wait time since queued was " + waited(editor));
  if (!editor.is_true(kAdmittedCondition)) return;
  editor.record_event(EventReason::kAdmitted,
                      "Admitted by ClusterQueue " + queue + ", wait time since reservation was 0s");
}

// Kueue's text. Readers of the preemptor's namespace need not be able to list the victim's, which stays unnamed then,
// as in explanations.
std::string victim_text(const scheduler::Preempted& preempted) {
  const ObjectMeta& victim = preempted.workload->meta;
  if (victim.ns != preempted.preemptor->meta.ns) return "a workload of another namespace";
  return "workload " + victim.ns + "/" + victim.name + " (UID: " + victim.uid + ")";
}

// An event on the preemptor. muster never raises a priority.
ObjectEvent preemption_for(const scheduler::Preempted& preempted) {
  const Workload& victim = *preempted.workload;
  const auto priority = [](const Workload& workload) {
    const std::string value = std::to_string(workload.priority);
    return value + " (base: " + value + ", boost: 0)";
  };
  return event_about(*preempted.preemptor, EventReason::kPreemptedWorkload,
                     "Preempted " + victim_text(preempted) + " in ClusterQueue " + preempted.cluster_queue +
                         "; preemptor effective priority: " + priority(*preempted.preemptor) +
                         "; preemptee effective priority: " + priority(victim));
}

void evict(const scheduler::Preempted& preempted, WorkloadEditor& editor) {
  editor.evict(kPreemptedReason, "", preempted.message);
  editor.set(kPreemptedCondition, true, scheduler::to_text(preempted.reason), preempted.message);
  editor.record_event(EventReason::kPreempted, preempted.message);
  editor.record_event(preemption_for(preempted));
}

// The requests for which quota was needed: after defaults, limits and the configured transformations, for all
// pods of each set.
json requested(const Workload& workload, const ReconcileContext& context) {
  json pod_sets = json::array();
  const std::vector<Requests> per_pod =
      state::quota_requests_of(workload, context.state, context.queues(), context.decisions.demand_sources());
  for (size_t i = 0; i < per_pod.size(); ++i) {
    json resources = json::object();
    for (const auto& [resource, amount] : per_pod[i])
      resources[resource] = to_quantity(resource, saturating_multiply(amount, workload.pod_sets[i].count)).to_json();
    pod_sets.push_back({{"name", workload.pod_sets[i].name}, {"resources", std::move(resources)}});
  }
  return pod_sets;
}

void say_refused(const state::Inadmissible& refused, const QueueSettings& settings, WorkloadEditor& editor) {
  editor.set(kQuotaReservedCondition, false, refused.reason, refused.message);
  editor.sync_admitted();
  if (settings.wait_for_pods_ready && editor.find(kPodsReadyCondition) == nullptr) await_pods(editor);
}

void refuse(const state::Inadmissible& refused, const ReconcileContext& context, WorkloadEditor& editor, Plan& plan) {
  if (is_kept_out(editor.workload(), state::queues_of(editor.workload(), context.state))) return;
  const Condition* known = editor.find(kQuotaReservedCondition);
  if (known != nullptr && !known->is_true() && known->reason == refused.reason && known->message == refused.message)
    return;
  const Duration stood = context.now.monotonic - refused.since;
  if (stood < kRefusalStands) return plan.wake_at(context.now.wall + (kRefusalStands - stood));
  const bool news = known == nullptr || known->reason != refused.reason;
  say_refused(refused, context.queues(), editor);
  editor.attach("resourceRequests", requested(editor.workload(), context));
  if (!news || !refused.evaluated) return;
  // A test asks for the row of each reason of the scheduler.
  if (const auto reason = find_event_reason(kWarningEvent, refused.reason))
    editor.record_event(*reason, refused.message);
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const Workload* workload = context.state.find<Workload>(key.ns, key.name);
  const state::PendingDecision* decision = context.decisions.pending_decision_on(key.ns, key.name);
  if (workload == nullptr || decision == nullptr || workload->meta.deleting) return plan;
  WorkloadEditor editor(*workload, context);
  std::visit(Overloaded{
                 [&](const scheduler::Admitted& admitted) { admit(admitted, context, editor); },
                 [&](const scheduler::Preempted& preempted) { evict(preempted, editor); },
                 [&](const state::Inadmissible& refused) { refuse(refused, context, editor, plan); },
             },
             *decision);
  if (const auto* preempted = std::get_if<scheduler::Preempted>(decision))
    editor.measure(state::preemption_by(*preempted->preemptor, scheduler::to_text(preempted->reason), context.state));
  editor.write_into(plan);
  return plan;
}

// The keys come from SchedulerDriver::decide().
void requests_for(const state::ClusterState&, const TypedObject&, std::vector<ObjectKey>&) {}

constexpr const ResourceType* kKinds[] = {&kWorkloads};

}  // namespace

WorkloadStatus status_after(const state::PendingDecision& decision, const Workload& workload,
                            const ReconcileContext& context) {
  WorkloadEditor editor(workload, context);
  std::visit(Overloaded{
                 [&](const scheduler::Admitted& admitted) { admit(admitted, context, editor); },
                 [&](const scheduler::Preempted& preempted) { evict(preempted, editor); },
                 [&](const state::Inadmissible& refused) {
                   if (is_kept_out(workload, state::queues_of(workload, context.state))) return;
                   say_refused(refused, context.queues(), editor);
                 },
             },
             decision);
  return std::move(editor.status);
}

const Reconciler admission_reconciler = {
    .name = "admission", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
