// A Workload, from its end backwards to its beginning.
#include <algorithm>

#include "api/texts/workload_texts.h"
#include "api/workload_conditions.h"
#include "explain/explain_scene.h"
#include "state/admissions.h"

namespace muster {
namespace {

const Condition* find(const Workload& workload, std::string_view type) {
  return find_condition(workload.status.conditions, type);
}

std::string said(const Condition& condition) {
  return condition.message.empty() ? condition.reason.text() : condition.reason + ": " + condition.message;
}

void add_facts(const ExplainScene& scene, const Workload& workload, Explained& told) {
  if (told.kind != kWorkloads.kind) told.add_fact("Workload", workload.meta.name);
  told.add_fact("LocalQueue", workload.queue_name);
  const LocalQueue* local = scene.state.local_queue(workload.meta.ns, workload.queue_name);
  if (workload.status.admission)
    told.add_fact("ClusterQueue", workload.status.admission->cluster_queue);
  else if (local != nullptr)
    told.add_fact("ClusterQueue", local->cluster_queue);
  const std::string priority = std::to_string(workload.priority);
  told.add_fact("Priority", workload.priority_class ? priority + " (" + workload.priority_class->name + ")" : priority);
  if (!workload.status.admission) return;
  std::string flavors;
  for (const PodSetAssignment& pod_set : workload.status.admission->pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      const auto usage = pod_set.resource_usage.find(resource);
      flavors += (flavors.empty() ? "" : "; ") + pod_set.name + ": ";
      if (usage != pod_set.resource_usage.end()) flavors += usage->second.text() + " ";
      flavors += resource + " of " + flavor;
    }
  }
  told.add_fact("Quota", flavors);
}

// What the conditions still tell of the past. Which other Workload blocks admissions is in a
// message of theirs; here that is told in `others`, to those who may know.
void add_timeline(const Workload& workload, Explained& told) {
  told.timeline.push_back({workload.meta.created, "Workload created"});
  for (const Condition& condition : workload.status.conditions) {
    std::string what = condition.type + "=" + condition.status + " " + condition.reason;
    if (condition.reason != kWaitingForPodsReadyReason && !condition.message.empty()) what += ": " + condition.message;
    told.timeline.push_back({condition.last_transition, std::move(what)});
  }
  std::stable_sort(told.timeline.begin(), told.timeline.end(),
                   [](const ExplainedMoment& a, const ExplainedMoment& b) { return a.time < b.time; });
}

void add_tries(const ExplainScene& scene, const Workload& workload, Explained& told) {
  const auto& state = workload.status.requeue_state;
  if (!state || (!state->count && state->requeue_at.is_zero())) return;
  ExplainedTries tries{.failed = state->count.value_or(0), .limit = std::nullopt, .next_at = state->requeue_at};
  const auto& settings = scene.queues().wait_for_pods_ready;
  // So many evictions are allowed; the one after them deactivates.
  if (settings && settings->requeuing.backoff_limit_count) tries.limit = *settings->requeuing.backoff_limit_count + 1;
  told.tries = tries;
}

std::string reactivate(const Workload& workload) {
  return kubectl(workload.meta.ns,
                 "patch workload " + workload.meta.name + " --type merge -p '{\"spec\":{\"active\":true}}'");
}

void explain_inactive(const Workload& workload, Explained& told) {
  const Condition* evicted = find(workload, kEvictedCondition);
  const std::string reason = evicted == nullptr ? "" : evicted->reason;
  const auto cause = deactivation_cause(reason);
  if (cause == kRequeuingLimitExceededReason) {
    told.say(reason, told.subject() + " was deactivated: its pods did not become ready in time in any attempt.");
  } else if (cause == kMaximumExecutionTimeExceededReason) {
    told.say(reason, told.subject() + " was deactivated: it has used its maximum execution time.");
  } else if (cause == kFlavorsExhaustedReason) {
    told.say(reason, told.subject() + " was deactivated: all flavors have failed for it.");
  } else if (cause) {
    told.say(reason, told.subject() + " was deactivated: " + evicted->message + ".");
  } else {
    told.say(kDeactivatedReason, told.subject() + " was deactivated by hand: spec.active of its Workload is false.");
  }
  if (evicted != nullptr && !evicted->message.empty()) told.because.push_back(evicted->message + ".");
  if (workload.has_quota_reserved()) told.because.push_back("It holds its quota until its pods are gone.");
  told.change.push_back("To requeue it: " + reactivate(workload));
}

void explain_stopping(const Workload& workload, const std::optional<QueuedJob>& job, Explained& told) {
  const Condition& evicted = *find(workload, kEvictedCondition);
  told.say("Stopping", told.subject() + " was evicted (" + evicted.reason + "), and its pods are still stopping.");
  told.because.push_back(said(evicted) + ".");
  if (job && job->active()) told.because.push_back("It is requeued when its last pod is gone.");
  told.change.push_back("Nothing to do: the pods have their grace period; those on lost nodes wait for the node.");
}

void explain_backoff(const ExplainScene& scene, const Workload& workload, Explained& told) {
  const RequeueState& state = *workload.status.requeue_state;
  const Condition* evicted = find(workload, kEvictedCondition);
  const std::string begins = when(to_time_point(state.requeue_at), scene.now);
  if (state.count.value_or(0) > 0) {
    told.say("Backoff", told.subject() + " waits before its next attempt: attempt " + std::to_string(*state.count + 1) +
                            " begins at " + begins + ".");
  } else {
    told.say("Backoff", told.subject() + " waits before its next attempt, which begins at " + begins + ".");
  }
  if (evicted != nullptr) told.because.push_back("Evicted before: " + said(*evicted) + ".");
  told.change.push_back("It is requeued at that time without further action.");
}

void explain_checks(const Workload& workload, Explained& told) {
  std::string names;
  for (const AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state == kCheckReady) continue;
    names += (names.empty() ? "" : ", ") + check.name;
    told.because.push_back("AdmissionCheck " + check.name + " is " + check.state +
                           (check.message.empty() ? "." : ": " + check.message));
  }
  told.say(kUnsatisfiedChecksReason,
           names.empty() ? told.subject() + " has its quota and is about to be admitted."
                         : told.subject() + " has its quota and waits for admission checks: " + names + ".");
  told.change.push_back("Starts when the controllers of these checks set them to Ready.");
}

void explain_finished(const Workload& workload, Explained& told) {
  const Condition& finished = *find(workload, kFinishedCondition);
  told.say("Finished", told.subject() + " has finished: " + said(finished) + ".");
  if (finished.reason == kOutOfSyncReason || finished.reason == kFailedToStartReason)
    told.change.push_back("Create the job again; a finished Workload does not run again.");
}

void explain_admitted(const ExplainScene& scene, const Workload& workload, const std::optional<QueuedJob>& job,
                      Explained& told) {
  const Ruling* ruling = scene.state.admissions().ruling_on(workload.meta.ns, workload.meta.name);
  if (ruling != nullptr && std::holds_alternative<Preempted>(*ruling)) {
    told.say(kPreemptedReason, told.subject() + " is being preempted: another Workload needs its quota.");
    told.change.push_back("It is requeued without further action when its pods are gone.");
    return;
  }
  if (job) return explain_pods(scene, *job, &workload, told);
  told.say("Admitted", told.subject() + " is admitted; its owner is not a job that muster runs.");
}

// The dominant reason.
void explain_state(const ExplainScene& scene, const Workload& workload, const std::optional<QueuedJob>& job,
                   Explained& told) {
  const auto& requeue = workload.status.requeue_state;
  if (workload.finished()) return explain_finished(workload, told);
  if (workload.meta.deleting) {
    told.say("BeingDeleted", told.subject() + " is being deleted: its Workload goes when its job has stopped.");
    return;
  }
  if (!workload.active) return explain_inactive(workload, told);
  if (workload.evicted() && workload.has_quota_reserved()) return explain_stopping(workload, job, told);
  if (workload.admitted() && workload.has_quota_reserved()) return explain_admitted(scene, workload, job, told);
  if (workload.has_quota_reserved()) return explain_checks(workload, told);
  if (requeue && !requeue->requeue_at.is_zero() && to_time_point(requeue->requeue_at) > scene.now.wall)
    return explain_backoff(scene, workload, told);
  explain_waiting(scene, workload, told);
  if (workload.evicted()) told.because.push_back("Evicted before: " + said(*find(workload, kEvictedCondition)) + ".");
}

}  // namespace

void explain_workload(const ExplainScene& scene, const Workload& workload, const std::optional<QueuedJob>& job,
                      Explained& told) {
  add_facts(scene, workload, told);
  explain_state(scene, workload, job, told);
  explain_flavors(scene, workload, told);
  add_tries(scene, workload, told);
  add_timeline(workload, told);
}

}  // namespace muster
