// A Workload, from its end backwards to its beginning.
#include <algorithm>

#include "api/texts/workload_texts.h"
#include "api/workload_conditions.h"
#include "explain/explain_context.h"
#include "explain/history/workload_moments.h"
#include "explain/workload_indexes.h"
#include "jobs/job_kind.h"
#include "reconcilers/checks/check_controller.h"
#include "scheduler/decision.h"

namespace muster::explain {
namespace {

const Condition* find(const Workload& workload, std::string_view type) {
  return find_condition(workload.status.conditions, type);
}

// Without uids: readers know objects by their names.
std::string said(const Condition& condition) {
  if (names_preemptor(condition.message)) return condition.reason + ": for another Workload";
  return condition.message.empty() ? condition.reason.text() : condition.reason + ": " + condition.message;
}

void add_facts(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  if (reply.kind != kWorkloads.kind) reply.add_fact("Workload", workload.meta.name);
  reply.add_fact("LocalQueue", workload.queue_name);
  const LocalQueue* local = context.state.find<LocalQueue>(workload.meta.ns, workload.queue_name);
  if (workload.status.admission)
    reply.add_fact("ClusterQueue", workload.status.admission->cluster_queue);
  else if (local != nullptr)
    reply.add_fact("ClusterQueue", local->cluster_queue);
  const std::string priority = std::to_string(workload.priority);
  reply.add_fact("Priority",
                 workload.priority_class ? priority + " (" + workload.priority_class->name + ")" : priority);
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
  reply.add_fact("Quota", flavors);
}

std::optional<ExplainedOthers::Name> workload_with_uid(const ExplainContext& context, std::string_view uid) {
  const auto workloads = context.state.by(kWorkloadsByUid, {"", uid});
  const Workload* found = workloads.empty() ? nullptr : workloads.front();
  if (found == nullptr) return std::nullopt;
  return ExplainedOthers::Name{found->meta.ns, found->meta.name};
}

// The past as the conditions show it; muster's own history contains more if it exists.
void add_timeline(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  const auto find = [&](std::string_view uid) { return workload_with_uid(context, uid); };
  for (const Moment& moment : WorkloadTrace().take(workload, to_timestamp(context.now.wall)).moments)
    reply.timeline.push_back(explained(moment, find));
}

// `others` contains the preemptor, for users who have the right to see it.
void add_preemptor(const ExplainContext& context, const Condition& evicted, ExplainReply& reply) {
  const std::string_view uid = preemptor_uid_of(evicted.message);
  if (uid.empty()) return;
  ExplainedOthers preemptor{.role = std::string(kPreemptorRole), .count = 1, .names = {}};
  if (auto name = workload_with_uid(context, uid)) preemptor.names.push_back(*std::move(name));
  reply.others.push_back(std::move(preemptor));
}

void add_tries(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  const auto& state = workload.status.requeue_state;
  if (!state || (!state->count && state->requeue_at.is_zero())) return;
  ExplainedTries tries{.failed = state->count.value_or(0), .limit = std::nullopt, .next_at = state->requeue_at};
  const auto& settings = context.queues().wait_for_pods_ready;
  // The limit of evictions; the next eviction deactivates the Workload.
  if (settings && settings->requeuing.backoff_limit_count) tries.limit = *settings->requeuing.backoff_limit_count + 1;
  if (!workload.active) {
    tries.next_at = {};
    const Condition* evicted = find(workload, kEvictedCondition);
    const auto cause = evicted == nullptr ? std::nullopt : deactivation_cause(evicted->reason);
    // The count is of the evictions after which another try came: the last try is not among them.
    if (cause == kRequeuingLimitExceededReason) ++tries.failed;
  }
  reply.tries = tries;
}

void explain_inactive(const Workload& workload, ExplainReply& reply) {
  const Condition* evicted = find(workload, kEvictedCondition);
  const auto cause = evicted == nullptr ? std::nullopt : deactivation_cause(evicted->reason);
  const auto say = [&](const std::string& why) {
    reply.say(ExplainReason::kDeactivatedDueTo, reply.subject() + " was deactivated: " + why + ".", cause.value_or(""));
  };
  if (cause == kRequeuingLimitExceededReason) {
    say("its pods did not become ready in time in any attempt");
  } else if (cause == kMaximumExecutionTimeExceededReason) {
    say("it has used its maximum execution time");
  } else if (cause == kFlavorsExhaustedReason) {
    say("all flavors have failed for it");
  } else if (cause) {
    say(evicted->message);
  } else {
    reply.say(ExplainReason::kDeactivated,
              reply.subject() + " was deactivated by hand: spec.active of its Workload is false.");
  }
  if (evicted != nullptr && !evicted->message.empty() && !names_preemptor(evicted->message))
    reply.because.push_back(evicted->message + ".");
  if (workload.has_quota_reserved()) reply.because.push_back("It holds its quota until its pods are deleted.");
  if (cause == kRequeuingLimitExceededReason)
    reply.change.push_back("Correct first what delayed its pods: otherwise the next attempts end in the same way.");
  add_remedies(Cause::kDeactivated, {{"workload", workload.meta.name}}, reply);
}

void explain_stopping(const ExplainContext& context, const Workload& workload,
                      const std::optional<jobs::QueuedJob>& job, ExplainReply& reply) {
  const Condition& evicted = *find(workload, kEvictedCondition);
  reply.say(ExplainReason::kStopping,
            reply.subject() + " was evicted (" + evicted.reason + "), and its pods are still stopping.");
  reply.because.push_back(said(evicted) + ".");
  add_preemptor(context, evicted, reply);
  if (job && job->active()) reply.because.push_back("It is requeued when its last pod is deleted.");
  add_remedies(Cause::kStopping, {}, reply);
}

void explain_backoff(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  const RequeueState& state = *workload.status.requeue_state;
  const Condition* evicted = find(workload, kEvictedCondition);
  const std::string begins = when(to_time_point(state.requeue_at), context.now);
  if (state.count.value_or(0) > 0) {
    reply.say(ExplainReason::kBackoff, reply.subject() + " waits before its next attempt: attempt " +
                                           std::to_string(*state.count + 1) + " begins at " + begins + ".");
  } else {
    reply.say(ExplainReason::kBackoff,
              reply.subject() + " waits before its next attempt, which begins at " + begins + ".");
  }
  if (evicted != nullptr) {
    reply.because.push_back("Evicted before: " + said(*evicted) + ".");
    add_preemptor(context, *evicted, reply);
  }
  add_remedies(Cause::kBackoff, {}, reply);
}

// The sentence of muster's own controller of this check; empty for a controller of another program.
std::string sentence_of(const ExplainContext& context, const Workload& workload, const AdmissionCheckState& known) {
  const AdmissionCheck* check = context.state.find<AdmissionCheck>(known.name);
  if (check == nullptr) return "";
  const auto* controller = reconcilers::find_check_controller(context.check_controllers, check->controller);
  return controller == nullptr ? "" : controller->explain({context, workload, known}, *check);
}

void explain_checks(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  std::string names;
  for (const AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state == kCheckReady) continue;
    names += (names.empty() ? "" : ", ") + check.name;
    reply.because.push_back("AdmissionCheck " + check.name + " is " + check.state +
                            (check.message.empty() ? "." : ": " + check.message));
    if (std::string sentence = sentence_of(context, workload, check); !sentence.empty())
      reply.because.push_back(std::move(sentence));
  }
  reply.say(ExplainReason::kUnsatisfiedAdmissionChecks,
            names.empty() ? reply.subject() + " has its quota and is about to be admitted."
                          : reply.subject() + " has its quota and waits for admission checks: " + names + ".");
  add_remedies(Cause::kChecksPending, {}, reply);
}

void explain_finished(const Workload& workload, ExplainReply& reply) {
  const Condition& finished = *find(workload, kFinishedCondition);
  reply.say(ExplainReason::kFinished, reply.subject() + " has finished: " + said(finished) + ".");
  if (finished.reason == kOutOfSyncReason || finished.reason == kFailedToStartReason)
    reply.change.push_back("Create the job again; a finished Workload does not run again.");
}

void explain_admitted(const ExplainContext& context, const Workload& workload,
                      const std::optional<jobs::QueuedJob>& job, ExplainReply& reply) {
  const state::PendingDecision* decision = context.decisions.pending_decision_on(workload.meta.ns, workload.meta.name);
  if (decision != nullptr && std::holds_alternative<scheduler::Preempted>(*decision)) {
    reply.say(ExplainReason::kPreempted, reply.subject() + " is being preempted: another Workload needs its quota.");
    add_remedies(Cause::kPreempted, {}, reply);
    const WorkloadPtr& preemptor = std::get<scheduler::Preempted>(*decision).preemptor;
    if (preemptor)
      reply.others.push_back({std::string(kPreemptorRole), 1, {{preemptor->meta.ns, preemptor->meta.name}}});
    return;
  }
  if (job) return explain_pods(context, *job, &workload, reply);
  if (explain_pods_of_workload(context, workload, reply) == reconcilers::Step::kDone) return;
  const auto& owner = workload.meta.controller;
  const jobs::JobKind* kind = owner ? jobs::find_owner_kind(*owner, context.queues().rules) : nullptr;
  if (kind != nullptr && explain_unseen(context, kStateOfPods, {&kind->type}, reply) == reconcilers::Step::kDone)
    return;
  reply.say(ExplainReason::kAdmitted, reply.subject() + " is admitted; its owner is not a job that muster runs.");
}

// The dominant reason.
void explain_state(const ExplainContext& context, const Workload& workload, const std::optional<jobs::QueuedJob>& job,
                   ExplainReply& reply) {
  const auto& requeue = workload.status.requeue_state;
  if (workload.finished()) return explain_finished(workload, reply);
  if (workload.meta.deleting) {
    reply.say(ExplainReason::kBeingDeleted,
              reply.subject() + " is being deleted: its Workload is deleted when its job has stopped.");
    return;
  }
  if (!workload.active) return explain_inactive(workload, reply);
  if (workload.evicted() && workload.has_quota_reserved()) return explain_stopping(context, workload, job, reply);
  if (workload.admitted() && workload.has_quota_reserved()) return explain_admitted(context, workload, job, reply);
  if (workload.has_quota_reserved()) return explain_checks(context, workload, reply);
  if (requeue && !requeue->requeue_at.is_zero() && to_time_point(requeue->requeue_at) > context.now.wall)
    return explain_backoff(context, workload, reply);
  explain_waiting(context, workload, reply);
  if (!workload.evicted()) return;
  reply.because.push_back("Evicted before: " + said(*find(workload, kEvictedCondition)) + ".");
  add_preemptor(context, *find(workload, kEvictedCondition), reply);
}

}  // namespace

void explain_workload(const ExplainContext& context, const Workload& workload,
                      const std::optional<jobs::QueuedJob>& job, ExplainReply& reply) {
  add_facts(context, workload, reply);
  explain_state(context, workload, job, reply);
  explain_flavors(context, workload, reply);
  explain_order(context, workload, reply);
  add_tries(context, workload, reply);
  add_timeline(context, workload, reply);
}

}  // namespace muster::explain
