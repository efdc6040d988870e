// The results of a head's turn: a reservation, evictions, or its return to the queue.
#include <algorithm>

#include "api/meta/constants.h"
#include "api/requests.h"
#include "api/texts/workload_texts.h"
#include "scheduler/cycle.h"
#include "scheduler/partial_admission.h"
#include "scheduler/reservation.h"

namespace muster::scheduler {
namespace {

// The place in the tree, as Kueue's messages have it: "/root/cohort/queue".
std::string path_of(const Ledger& ledger, const QueueState& queue) {
  std::string path = queue.name;
  for (NodeId at = ledger.parent(queue.node); at != kNoNode; at = ledger.parent(at))
    path = ledger.name(at) + "/" + path;
  return "/" + path;
}

// Only evictions of the last hour count, so the list stays short.
void count_eviction(WorkloadState& victim, const WorkloadState& preemptor, Timestamp now) {
  const std::string& uid = preemptor.object->meta.uid;
  std::erase_if(victim.evictions,
                [&](const Eviction& eviction) { return now.seconds - eviction.last.seconds > kEvictionMemorySeconds; });
  auto it = std::find_if(victim.evictions.begin(), victim.evictions.end(),
                         [&](const Eviction& eviction) { return eviction.preemptor_uid == uid; });
  if (it == victim.evictions.end()) it = victim.evictions.insert(it, {.preemptor_uid = uid, .count = 0, .last = {}});
  ++it->count;
  it->last = now;
}

std::string message_of(const Ledger& ledger, const WorkloadState& preemptor, const Victim& victim) {
  return preemption_message({.preemptor_uid = preemptor.object->meta.uid,
                             .job_uid = preemptor.object->meta.label(kJobUidLabel),
                             .why = explanation_of(victim.reason),
                             .preemptor_path = path_of(ledger, *preemptor.queue),
                             .victim_path = path_of(ledger, *victim.workload->queue)});
}

}  // namespace

void Cycle::preempt(CycleEntry& entry) {
  WorkloadState& preemptor = *entry.workload;
  // Later heads of this cycle must not take the quota that the victims will free.
  hold(entry, entry.placement.claim);
  for (const Victim& victim : entry.victims) {
    WorkloadState& evicted = *victim.workload;
    WorkloadState::Holding& held = evicted.holding();
    if (held.evicting) {
      // Another preemptor, or an earlier cycle, evicts it already: one eviction is enough.
      decisions_.push_back(AwaitedVictim{evicted.object, victim.reason, preemptor.object});
      continue;
    }
    held.evicting = held.assumed_eviction = true;
    entry.evicted = true;
    count_eviction(evicted, preemptor, to_timestamp(now_.wall));
    if (recent_evictions(evicted, preemptor, to_timestamp(now_.wall)) >= kEvictionsBeforeClaim)
      preemptor.has_claim = true;
    decisions_.push_back(Preempted{evicted.object, evicted.queue->name, victim.reason, preemptor.object,
                                   message_of(state_.ledger, preemptor, victim)});
  }
  refuse(entry, AttemptResult::kPreempting, PendingReason::kWaitingForPreemptedWorkloads);
}

// It is evaluated again when the first protection ends, independent of other events.
void Cycle::await_protected(CycleEntry& entry) {
  WorkloadState& preemptor = *entry.workload;
  const MonotonicTime end = *entry.spared.first_end;
  auto& since = preemptor.waiting().awaits_protected_since;
  if (!since) since = now_.monotonic;
  await_protection_end(state_, *preemptor.queue, end);
  entry.refusal.protected_until = end;
  // Timestamps are whole seconds, and so is the time in the message.
  entry.refusal.protected_until_stamp =
      whole_seconds(now_.wall + (end - now_.monotonic) + std::chrono::milliseconds(500));
  refuse(entry, AttemptResult::kPreemptNoCandidates, PendingReason::kWaitingForProtectedWorkloads);
}

void Cycle::admit(CycleEntry& entry) {
  WorkloadState& workload = *entry.workload;
  QueueState& queue = *workload.queue;
  Admitted decision{.workload = workload.object,
                    .admission = {.cluster_queue = queue.name, .pod_sets = {}},
                    .borrowing_level = entry.placement.level};
  WorkloadState::Holding held;
  for (size_t i = 0; i < entry.placement.pod_sets.size(); ++i) {
    const PodSetPlacement& placed = entry.placement.pod_sets[i];
    PodSetAssignment assignment;
    assignment.name = workload.object->pod_sets[i].name;
    assignment.count = placed.count;
    for (const FlavorChoice& choice : placed.choices) {
      const std::string& resource = state_.names.resource_name(choice.resource);
      const auto request =
          std::find_if(placed.requests.begin(), placed.requests.end(),
                       [&](const ResourceAmount& amount) { return amount.resource == choice.resource; });
      assignment.flavors.emplace(resource, state_.names.flavor_name(choice.flavor));
      assignment.resource_usage.emplace(resource, to_quantity(resource, request->amount));
      if (std::find(held.used_quotas.begin(), held.used_quotas.end(), choice.quota) == held.used_quotas.end())
        held.used_quotas.push_back(choice.quota);
    }
    state_.capacity.write(placed.uses, assignment);
    decision.admission.pod_sets.push_back(std::move(assignment));
  }
  held.claim = std::move(entry.placement.claim);
  held.reserved_at = to_timestamp(now_.wall);
  // Until the object shows it: a version without the admission is older than this decision.
  held.assumed = true;
  // Protection counts from the admission, which checks delay.
  const std::vector<std::string> flavors = assigned_flavors(decision.admission);
  const auto& checks = queue.object->admission_checks;
  const bool is_checked = std::any_of(checks.begin(), checks.end(),
                                      [&](const AdmissionCheckRule& rule) { return rule.applies_to_any(flavors); });
  if (!is_checked) held.start = {.at = now_.monotonic, .priority_class = workload.object->priority_class};
  workload.has_claim = false;
  workload.progress = {};
  if (queue.pending.preferred() == &workload) queue.pending.prefer(nullptr);
  queue.pending.remove(workload);
  reserve(state_, workload, queue, std::move(held));
  entry.admitted = true;
  if (state_.settings.one_by_one) state_.awaited = workload.object->meta.ns + "/" + workload.object->meta.name;
  decisions_.push_back(std::move(decision));
}

// The wake conditions of a refused shape. Unknown if a smaller size can
// fit.
void Cycle::await_wake_conditions(const WorkloadState& workload) {
  PendingQueue& pending = workload.queue->pending;
  if (!workload.in_queue() || !pending.refused(workload.shape) || can_be_reduced(*workload.object)) return;
  const std::vector<PodSetObstacles>& pod_sets = workload.waiting().refusal->pod_sets;
  if (pod_sets.empty() || pod_sets.front().pod_set != 0) return;
  if (auto wake_conditions = wake_conditions_of(state_, workload, pod_sets.front().obstacles))
    pending.await(workload.shape, std::move(*wake_conditions));
}

void Cycle::requeue(CycleEntry& entry) {
  WorkloadState& workload = *entry.workload;
  QueueState& queue = *workload.queue;
  LastAttempt& refusal = entry.refusal;
  const AttemptResult outcome = refusal.outcome;
  const bool waits = outcome == AttemptResult::kPreempting || outcome == AttemptResult::kDeferredFit;
  const bool held_up = outcome == AttemptResult::kAwaitingReady;
  // Evictions and time change the result: the next attempt tries all flavors.
  if (waits || held_up) workload.progress = {};
  // Its victims leave for it, so it comes first after that. The head of a StrictFIFO queue comes first anyway.
  // Once it waits for none any more, and was not admitted, it goes back to its place.
  if (waits && !queue.strict())
    queue.pending.prefer(&workload);
  else if (!waits && !held_up && queue.pending.preferred() == &workload)
    queue.pending.prefer(nullptr);

  // It competes again in the next cycle: if time alone can help, if another Workload of this cycle took the quota, in a
  // StrictFIFO queue, and if untried flavors are left (KEP-582).
  const bool again =
      waits || held_up || outcome == AttemptResult::kSkipped || queue.strict() || workload.progress.pending();
  if (outcome == AttemptResult::kInvalid && entry.until_changed) {
    // No release of quota can help: only a change of its object or of its queue.
    queue.pending.hold_back(workload, {});
  } else if (!again && outcome == AttemptResult::kInvalid) {
    queue.pending.park(workload);
  } else if (!again) {
    // With all Workloads of its shape.
    queue.pending.refuse_shape(workload.shape);
  }
  refusal.requeued = queue.pending.competes(workload) ? QueuePosition::kActive : QueuePosition::kInadmissible;

  std::unique_ptr<LastAttempt>& last = workload.waiting().refusal;
  if (held_up) {
    refusal.awaited = state_.awaited;
    refusal.cycle = last != nullptr && last->outcome == outcome ? last->cycle : state_.cycle;
  }
  // A difference only in numbers is not reported: numbers change with every release, and each report is a write.
  const bool changed = last == nullptr || last->outcome != outcome || last->reason != refusal.reason ||
                       last->requeued != refusal.requeued || last->awaited != refusal.awaited ||
                       (!waits && change_that_helps(*last) != change_that_helps(refusal)) ||
                       last->protected_until != refusal.protected_until;
  if (changed || !only_news_) {
    decisions_.push_back(Pending{.workload = workload.object,
                                 .cluster_queue = queue.name,
                                 .outcome = outcome,
                                 .reason = refusal.reason,
                                 .message = to_message(state_.names, *workload.object, refusal),
                                 .requeued = refusal.requeued,
                                 .changed = changed});
  }
  if (last)
    std::swap(*last, refusal);
  else
    last = std::make_unique<LastAttempt>(std::move(refusal));
}

}  // namespace muster::scheduler
