// Jobs whose pods are allowed to run: their progress, and the missing pods of a gang.
#include <algorithm>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "explain/explain_context.h"
#include "jobs/jobset/startup_gates.h"
#include "reconcilers/gang/group_scheduling_progress.h"
#include "reconcilers/workload/workload_timeouts.h"
#include "state/index/indexes.h"

namespace muster::explain {
namespace {

struct PodCounts {
  int64_t wanted = 0;
  int64_t active = 0;
  int64_t ready = 0;
  int64_t succeeded = 0;

  std::string text() const {
    std::string made =
        std::to_string(ready) + "/" + std::to_string(wanted) + " pods ready, " + std::to_string(active) + " active";
    if (succeeded > 0) made += ", " + std::to_string(succeeded) + " succeeded";
    return made;
  }
};

void count(const Job& job, PodCounts& counts) {
  counts.active += job.status.active;
  counts.ready += job.status.ready;
  counts.succeeded += job.status.succeeded;
}

PodCounts count_pods(const ExplainContext& context, const jobs::QueuedJob& queued) {
  const ObjectMeta& meta = queued.meta();
  PodCounts counts;
  if (queued.type() == kJobs) {
    const Job* job = context.state.find<Job>(meta.ns, meta.name);
    if (job == nullptr) return counts;
    count(*job, counts);
    counts.wanted = job->pods_expected();
    return counts;
  }
  const JobSet* jobset = context.state.find<JobSet>(meta.ns, meta.name);
  if (jobset == nullptr) return counts;
  for (const ReplicatedJob& replicated : jobset->replicated_jobs)
    counts.wanted += int64_t{replicated.replicas} * pods_at_once(replicated.parallelism, replicated.completions);
  for (const Job* job : context.state.by(state::kJobsByJobSet, {meta.ns, meta.name})) {
    if (job->meta.controller && job->meta.controller->uid == meta.uid) count(*job, counts);
  }
  return counts;
}

std::string pods_hint(const jobs::QueuedJob& job) {
  const std::string_view label = job.type() == kJobs ? kJobNameLabel : kJobSetNameKey;
  return kubectl(job.meta().ns, "get pods -l " + std::string(label) + "=" + job.meta().name) +
         " shows which, and describe says why.";
}

// The state of the start barrier while pods wait behind it, and how many pods exist.
reconcilers::Step explain_gang(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply) {
  const ObjectMeta& meta = job.meta();
  const auto owner = reconcilers::find_gang_owner({&job.type(), meta.ns, meta.name}, context.state);
  if (!owner || owner->ends()) return reconcilers::Step::kContinue;
  // Whose pods are all ready is past its barrier.
  if (context.hides(kPods) || context.hides(kConfigMaps)) {
    if (job.pods_ready()) return reconcilers::Step::kContinue;
    return explain_unseen(context, "whether its start barrier is open", {&kPods, &kConfigMaps}, reply);
  }
  const ConfigMap* config_map = context.state.find<ConfigMap>(meta.ns, owner->barrier.config_map);
  const reconcilers::GangDecisions ledger =
      config_map == nullptr ? reconcilers::GangDecisions{} : reconcilers::read_ledger(*config_map);
  const state::Gang* gang = context.state.gangs().find(meta);
  const reconcilers::GroupProgress progress = reconcilers::assess(*owner, gang, ledger);
  if (!progress.waits() || progress.complete()) return reconcilers::Step::kContinue;
  reply.say(ExplainReason::kStartBarrier, reply.subject() +
                                              " waits at its start barrier: " + std::to_string(progress.started) +
                                              " of " + std::to_string(progress.expected) + " pods have started.");
  if (const std::string missing = reconcilers::missing_pods(*owner, gang, ledger, context.state); !missing.empty())
    reply.because.push_back("Missing: " + missing + ".");
  const auto deadline = reconcilers::deadline_of(*owner, progress, ledger, context.now.wall);
  const std::string end = owner->suspends_on_timeout() ? "it is suspended" : "it fails";
  const std::string begin =
      progress.held.empty() ? "its time begins with the first pod" : "its time has not begun: " + progress.held;
  reply.add_fact("Barrier",
                 "opens when all have started; " + (deadline ? end + " at " + when(*deadline, context.now) : begin));
  reply.change.push_back("Starts when every pod is on a node; " + pods_hint(job));
  return reconcilers::Step::kDone;
}

// What dependsOn and startupPolicy hold back.
void tell_gates(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply) {
  constexpr size_t kMostNamed = 5;
  if (job.type() != kJobSets) return;
  const JobSet* jobset = context.state.find<JobSet>(job.meta().ns, job.meta().name);
  if (jobset == nullptr) return;
  size_t named = 0;
  for (size_t i = 0; i < jobset->replicated_jobs.size() && named < kMostNamed; ++i) {
    const std::string until = jobs::closed_until(*jobset, i);
    if (until.empty()) continue;
    ++named;
    reply.because.push_back("Replicated job " + jobset->replicated_jobs[i].name + " waits " + until + ".");
  }
}

// A JobSet always has Jobs when it runs: what prevents them is in its events.
reconcilers::Step explain_missing_jobs(const ExplainContext& context, const jobs::QueuedJob& job, const PodCounts& pods,
                                       ExplainReply& reply) {
  const ObjectMeta& meta = job.meta();
  if (job.type() != kJobSets || pods.wanted == 0) return reconcilers::Step::kContinue;
  for (const Job* each : context.state.by(state::kJobsByJobSet, {meta.ns, meta.name})) {
    if (each->meta.controller && each->meta.controller->uid == meta.uid) return reconcilers::Step::kContinue;
  }
  reply.say(ExplainReason::kJobsMissing, reply.subject() + " does not run: it has no Jobs.");
  reply.change.push_back(kubectl(meta.ns, "describe jobset " + meta.name) +
                         " shows its events: JobCreationFailed says what the API server refuses, and Unsupported that "
                         "muster does not run it, as in kube-system.");
  return reconcilers::Step::kDone;
}

void explain_not_ready(const ExplainContext& context, const jobs::QueuedJob& job, const Workload* workload,
                       const PodCounts& pods, ExplainReply& reply) {
  reply.say(ExplainReason::kPodsNotReady, reply.subject() + " is admitted, and " + std::to_string(pods.ready) +
                                              " of its " + std::to_string(pods.wanted) + " pods are ready.");
  if (workload == nullptr) reply.headline = reply.subject() + " runs; " + pods.text() + ".";
  const Condition* ready =
      workload == nullptr ? nullptr : find_condition(workload->status.conditions, kPodsReadyCondition);
  if (ready != nullptr && ready->reason == kWaitForRecoveryReason)
    reply.because.push_back("All pods were ready before, and a pod has failed: it waits for recovery.");
  if (ready != nullptr && ready->reason == kWaitForNextPartReason)
    reply.because.push_back("The part before was ready; the next part of the job starts now, and has its own time.");
  const auto& settings = context.queues().wait_for_pods_ready;
  if (workload != nullptr && settings) {
    const auto wait = reconcilers::pods_ready_wait(workload->status.conditions, *settings);
    if (wait) reply.add_fact("Evicted at", when(wait->end, context.now) + ", unless all pods are ready by then");
  }
  reply.change.push_back(pods_hint(job));
}

}  // namespace

reconcilers::Step explain_rejection(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply) {
  const state::WriteMemory::Rejection* rejection = context.state.writes().rejection(key);
  if (rejection == nullptr) return reconcilers::Step::kContinue;
  const ObjectKey& target = rejection->target;
  if (context.state.find(*target.type, target.ns, target.name) != nullptr) return reconcilers::Step::kContinue;
  reply.say(ExplainReason::kCreationRefused, reply.subject() + " needs " + std::string(target.type->kind) + " " +
                                                 target.name + ", which cannot be created: " + rejection->why +
                                                 (rejection->why.ends_with('.') ? "" : "."));
  reply.change.push_back("Correct what the API server names; muster tries again by itself.");
  return reconcilers::Step::kDone;
}

void explain_pods(const ExplainContext& context, const jobs::QueuedJob& job, const Workload* workload,
                  ExplainReply& reply) {
  const PodCounts pods = count_pods(context, job);
  const bool sees_pods = job.type() != kJobSets || !context.hides(kJobs);
  if (sees_pods) reply.add_fact("Pods", pods.text());
  if (job.suspended()) {
    reply.say(ExplainReason::kStarting, reply.subject() + " is admitted and about to be started.");
    reply.change.push_back("Nothing to do: ask again in a moment.");
    return;
  }
  if ((!sees_pods && explain_unseen(context, kStateOfPods, {&kJobs}, reply) == reconcilers::Step::kDone) ||
      explain_rejection(context, key_of(job.type(), job.meta()), reply) == reconcilers::Step::kDone ||
      explain_gang(context, job, reply) == reconcilers::Step::kDone ||
      explain_missing_jobs(context, job, pods, reply) == reconcilers::Step::kDone)
    return;
  if (job.pods_ready())
    reply.say(ExplainReason::kRunning, reply.subject() + " is running: " + pods.text() + ".");
  else
    explain_not_ready(context, job, workload, pods, reply);
  tell_gates(context, job, reply);
}

void explain_unqueued(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply) {
  const std::string sentence = reply.headline;
  const std::vector<ExplainedAction> actions = reply.actions;
  reply.forget_changes();
  if (!job.suspended()) {
    explain_pods(context, job, nullptr, reply);
    reply.because.push_back(sentence);
    return;
  }
  reply.headline = reply.subject() + " is suspended, and muster will not start it.";
  reply.because.push_back(sentence);
  for (const ExplainedAction& action : actions) reply.can(action);
}

}  // namespace muster::explain
