// A Workload without quota: its queues, then its turn, then the numbers.
#include <algorithm>
#include <map>
#include <set>

#include "api/meta/constants.h"
#include "api/requests.h"
#include "api/texts/unmet_requests.h"
#include "api/workload_conditions.h"
#include "explain/explain_context.h"
#include "reconcilers/queues/cluster_queue.h"
#include "reconcilers/workload/workload_queues.h"
#include "scheduler/eligibility.h"
#include "scheduler/views/explanation.h"

namespace muster::explain {
namespace {

constexpr size_t kMostNamed = 10;

std::string text(const std::string& resource, int64_t amount) {
  return to_quantity(resource, amount).text();
}

// --- Queues that keep it out ---

reconcilers::Step explain_local_queue(const Workload& workload, const state::QueuesOf& queues, ExplainReply& reply) {
  const std::string& name = workload.queue_name;
  const std::string& ns = workload.meta.ns;
  if (name.empty()) {
    reply.say("NoQueueName", reply.subject() + " names no LocalQueue.");
    reply.change.push_back("Give its job the label " + std::string(kQueueNameLabel) + ".");
    return reconcilers::Step::kDone;
  }
  if (queues.local == nullptr) {
    reply.say("LocalQueueMissing",
              reply.subject() + " waits for LocalQueue " + name + ", which does not exist in " + ns + ".");
    reply.change.push_back("Create that LocalQueue, or name another in the job's label " +
                           std::string(kQueueNameLabel) + "; " + kubectl(ns, "get localqueues") + " lists them.");
    return reconcilers::Step::kDone;
  }
  if (queues.local->stop_policy == StopPolicy::kNone) return reconcilers::Step::kContinue;
  reply.say("LocalQueueStopped", reply.subject() + " waits because LocalQueue " + name + " is stopped.");
  reply.change.push_back("To resume, set spec.stopPolicy of LocalQueue " + name + " to None.");
  return reconcilers::Step::kDone;
}

reconcilers::Step explain_cluster_queue(const ExplainContext& context, const Workload& workload,
                                        const state::QueuesOf& queues, ExplainReply& reply) {
  const std::string& name = queues.cluster_name;
  if (queues.cluster == nullptr) {
    reply.say("ClusterQueueMissing", reply.subject() + " waits for ClusterQueue " + name + ", which does not exist.");
    reply.because.push_back("LocalQueue " + workload.queue_name + " names it.");
    reply.change.push_back("Ask an administrator to create ClusterQueue " + name +
                           ", or use a LocalQueue of another ClusterQueue.");
    return reconcilers::Step::kDone;
  }
  if (const auto inactive = scheduler::why_inactive(context.decisions.scheduler().state(), name)) {
    const bool stopped = inactive->reason == kStoppedReason;
    reply.say(stopped ? "ClusterQueueStopped" : "ClusterQueueInactive",
              reply.subject() + " waits because ClusterQueue " + name +
                  (stopped ? " is stopped." : " cannot admit anything (" + inactive->reason + ")."));
    reply.because.push_back("ClusterQueue " + name + ": " + inactive->message);
    reply.change.push_back(stopped ? "To resume, set spec.stopPolicy of ClusterQueue " + name + " to None."
                                   : "Ask an administrator to create the missing objects, or to remove them from the "
                                     "spec of the ClusterQueue.");
    return reconcilers::Step::kDone;
  }
  const TypedObject* ns = context.state.find(kNamespaces, "", workload.meta.ns);
  if (ns == nullptr || queues.cluster->namespace_selector.matches(meta_of(*ns).labels))
    return reconcilers::Step::kContinue;
  reply.say("NamespaceNotAdmitted", reply.subject() + " waits because ClusterQueue " + name +
                                        " does not admit workloads of namespace " + workload.meta.ns + ".");
  reply.because.push_back("Its spec.namespaceSelector does not match the labels of the namespace.");
  reply.change.push_back(
      "Ask an administrator to label the namespace, or to change spec.namespaceSelector of ClusterQueue " + name + ".");
  return reconcilers::Step::kDone;
}

reconcilers::Step explain_gate(const Workload& workload, ExplainReply& reply) {
  const std::string gates(workload.meta.annotation(kAdmissionGatedByAnnotation));
  if (gates.empty()) return reconcilers::Step::kContinue;
  reply.say(kAdmissionGatedReason, reply.subject() + " waits for its admission gates: " + gates + ".");
  reply.change.push_back("To queue it, remove the gates from the annotation " +
                         std::string(kAdmissionGatedByAnnotation) + ".");
  return reconcilers::Step::kDone;
}

// --- Other Workloads ---

// Workloads that were evicted for this Workload and still hold quota.
ExplainedOthers victims_of(const ExplainContext& context, const Workload& workload) {
  ExplainedOthers victims{.role = std::string(kVictimRole), .count = 0, .names = {}};
  for (const Workload* victim : context.state.victims_of(workload.meta.uid)) {
    ++victims.count;
    if (victims.names.size() < kMostNamed) victims.names.push_back({victim->meta.ns, victim->meta.name});
  }
  return victims;
}

// With blockAdmission: the Workload that blocks all others, if it exists.
ExplainedOthers blocker_in(const ExplainContext& context) {
  ExplainedOthers blocker{.role = std::string(kBlockerRole), .count = 0, .names = {}};
  if (const auto key = context.decisions.blocked_by(context.now)) {
    blocker.count = 1;
    blocker.names.push_back({key->ns, key->name});
  }
  return blocker;
}

void add_ahead(const scheduler::SchedulerView& waits, ExplainReply& reply) {
  if (waits.position == 0) return;
  ExplainedOthers ahead{.role = std::string(kAheadRole), .count = static_cast<int64_t>(waits.position), .names = {}};
  for (const std::string& path : waits.ahead) {
    const auto [ns, name] = state::split_path(path);
    ahead.names.push_back({std::string(ns), std::string(name)});
  }
  reply.others.push_back(std::move(ahead));
}

// --- The numbers ---

// The missing amount, per requested unit.
double shortage(const scheduler::FlavorRow& row) {
  if (!row.suitable || row.requested <= row.free) return 0;
  return static_cast<double>(row.requested - row.free) / static_cast<double>(row.requested);
}

// The blocking reason: for each resource of a pod set without a usable flavor, the flavor that comes nearest;
// of these flavors the one with the smallest shortage.
const scheduler::FlavorRow* worst(const std::vector<scheduler::FlavorRow>& rows,
                                  bool (scheduler::FlavorRow::*does)() const) {
  std::map<std::pair<std::string_view, std::string_view>, const scheduler::FlavorRow*> nearest;
  std::set<std::pair<std::string_view, std::string_view>> satisfied;
  for (const scheduler::FlavorRow& row : rows) {
    const auto key = std::pair<std::string_view, std::string_view>(row.pod_set, row.resource);
    if ((row.*does)()) satisfied.insert(key);
    const scheduler::FlavorRow*& known = nearest[key];
    if (known == nullptr ||
        (row.suitable && (!known->suitable || row.requested - row.free < known->requested - known->free)))
      known = &row;
  }
  const scheduler::FlavorRow* found = nullptr;
  for (const auto& [key, row] : nearest) {
    if (satisfied.contains(key)) continue;
    if (found == nullptr || shortage(*row) > shortage(*found)) found = row;
  }
  return found;
}

void add_rows(std::vector<scheduler::FlavorRow> rows, ExplainReply& reply) {
  const auto before = [](const scheduler::FlavorRow& a, const scheduler::FlavorRow& b) {
    return std::pair(-shortage(a), a.suitable) < std::pair(-shortage(b), b.suitable);
  };
  std::stable_sort(rows.begin(), rows.end(), before);
  for (const scheduler::FlavorRow& row : rows) {
    ExplainedFlavor shown{.pod_set = row.pod_set,
                          .resource = row.resource,
                          .flavor = row.flavor,
                          .requested = text(row.resource, row.requested),
                          .verdict = row.verdict};
    if (!row.flavor.empty()) {
      shown.free = text(row.resource, row.free);
      shown.nominal = text(row.resource, row.nominal);
      shown.most = text(row.resource, row.most);
    }
    reply.flavors.push_back(std::move(shown));
  }
}

bool may_shrink(const Workload& workload) {
  return std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(),
                     [](const PodSet& pod_set) { return pod_set.min_count.has_value(); });
}

// The reason if this replica has made no decision: the reason that the leader has written, otherwise the reason
// that the numbers show.
std::string reason_without_decision(const Workload& workload, const scheduler::SchedulerView& waits) {
  const Condition* written = find_condition(workload.status.conditions, kQuotaReservedCondition);
  if (written != nullptr && !written->is_true()) {
    for (std::string_view token :
         {kWaitingForQuotaReason, kExceedsMaxQuotaReason, kNoMatchingFlavorReason, kWaitingForPreemptedWorkloadsReason,
          kWaitingForProtectedWorkloadsReason, kWaitingForPodsReadyReason}) {
      if (written->reason == token) return written->reason;
    }
  }
  if (may_shrink(workload)) return "";
  const scheduler::FlavorRow* never = worst(waits.flavors, &scheduler::FlavorRow::could_fit);
  if (never == nullptr) return "";
  return std::string(never->suitable ? kExceedsMaxQuotaReason : kNoMatchingFlavorReason);
}

// --- Words ---

void say_no_flavor(const scheduler::SchedulerView& waits, ExplainReply& reply) {
  reply.say(kNoMatchingFlavorReason,
            reply.subject() + " cannot run on any flavor of ClusterQueue " + waits.cluster_queue + ".");
  for (const scheduler::FlavorRow& row : waits.flavors) {
    if (row.suitable) continue;
    std::string why = row.flavor.empty() ? "Resource " + row.resource + ": " + row.verdict + "."
                                         : "Flavor " + row.flavor + ": " + row.verdict + ".";
    if (std::find(reply.because.begin(), reply.because.end(), why) == reply.because.end())
      reply.because.push_back(std::move(why));
  }
  const auto asks_for_topology = [](const scheduler::FlavorRow& row) { return row.verdict == kAsksForTopology; };
  if (std::any_of(waits.flavors.begin(), waits.flavors.end(), asks_for_topology))
    reply.change.emplace_back(kAsksForTopologyRemedy);
  else
    reply.change.push_back(
        "Change tolerations, node selector, affinity or requested resources of its pods, or have an administrator add "
        "a flavor that suits them.");
}

void say_waiting_for_quota(const scheduler::SchedulerView& waits, ExplainReply& reply) {
  const std::string queue = "ClusterQueue " + waits.cluster_queue;
  const scheduler::FlavorRow* row = worst(waits.flavors, &scheduler::FlavorRow::fits);
  if (row != nullptr && !row->suitable) return say_no_flavor(waits, reply);
  if (row == nullptr) {
    reply.say(kWaitingForQuotaReason, reply.subject() + " waits for its turn in " + queue + ".");
    reply.because.push_back(waits.position > 0 ? "Quota is free, but other workloads are ahead of it."
                                               : "Quota is free: it is evaluated again at once.");
  } else {
    reply.say(kWaitingForQuotaReason, reply.subject() + " waits for quota in " + queue + ": asks for " +
                                          text(row->resource, row->requested) + " of " + row->resource + ", " +
                                          text(row->resource, row->free) + " are free in flavor " + row->flavor + ".");
  }
  reply.change.push_back(waits.outlook.empty() ? "Starts when quota is released." : waits.outlook);
  if (row != nullptr && row->requested <= row->nominal)
    reply.change.push_back("The request fits into the nominal quota (" + text(row->resource, row->nominal) + " of " +
                           row->resource + "), which is in use or lent to other queues.");
}

void say_never_fits(const scheduler::SchedulerView& waits, ExplainReply& reply) {
  const scheduler::FlavorRow* row = worst(waits.flavors, &scheduler::FlavorRow::could_fit);
  const std::string queue = "ClusterQueue " + waits.cluster_queue;
  if (row != nullptr && !row->suitable) return say_no_flavor(waits, reply);
  if (row == nullptr) {
    reply.say(kExceedsMaxQuotaReason, reply.subject() + " requested more than " + queue + " can ever use.");
    reply.because.push_back("That was the result of its last evaluation; by the numbers below it fits now.");
    return;
  }
  reply.say(kExceedsMaxQuotaReason, reply.subject() + " cannot be admitted: it requests " +
                                        text(row->resource, row->requested) + " of " + row->resource + ", but " +
                                        queue + " can use at most " + text(row->resource, row->most) + ".");
  reply.change.push_back(
      "Lower the requests or the parallelism of the job, or have an administrator raise nominalQuota "
      "or borrowingLimit of " +
      row->resource + " in flavor " + row->flavor + " (or the quota of the cohort).");
}

void say_waiting_for_victims(const ExplainContext& context, const Workload& workload,
                             const scheduler::SchedulerView& waits, ExplainReply& reply) {
  ExplainedOthers victims = victims_of(context, workload);
  reply.say(kWaitingForPreemptedWorkloadsReason,
            victims.count > 0
                ? reply.subject() + " waits for " + std::to_string(victims.count) + " preempted Workload(s) to stop."
                : reply.subject() + " waits for preempted Workloads to stop.");
  reply.because.push_back("Its quota in ClusterQueue " + waits.cluster_queue + " is free once their pods are deleted.");
  reply.change.push_back("Nothing to do: it starts when they have stopped, as their grace periods allow.");
  if (victims.count > 0) reply.others.push_back(std::move(victims));
}

// A follower makes no decisions; the status that the leader has written contains the time.
void say_waiting_for_protected(const Workload& workload, const scheduler::SchedulerView& waits, ExplainReply& reply) {
  reply.say(kWaitingForProtectedWorkloadsReason,
            reply.subject() + " waits because the Workloads that it could preempt in ClusterQueue " +
                waits.cluster_queue + " or its cohort have started recently and are protected.");
  const Condition* written = find_condition(workload.status.conditions, kQuotaReservedCondition);
  const bool decided = !waits.reason.empty();
  reply.because.push_back(decided || written == nullptr ? waits.message : written->message.text());
  reply.change.push_back(decided ? waits.outlook
                                 : "Is evaluated again when their protection ends, or when quota is released.");
  reply.change.push_back("An administrator can shorten the wait with the annotation " +
                         std::string(kPreemptionProtectionLimitAnnotation) + " of ClusterQueue " + waits.cluster_queue +
                         ".");
}

// blockAdmission: no Workload is admitted while an admitted Workload is not ready.
void say_admission_blocked(const ExplainContext& context, ExplainedOthers blocker, ExplainReply& reply) {
  reply.say(
      kWaitingForPodsReadyReason,
      reply.subject() + " waits because nothing is admitted while the pods of an admitted Workload are not ready.");
  reply.because.push_back("waitForPodsReady.blockAdmission is on.");
  reply.change.push_back("It is evaluated again when they are ready, or after their timeout of " +
                         format_duration(context.queues().wait_for_pods_ready
                                             ? context.queues().wait_for_pods_ready->timeout
                                             : Duration::zero()) +
                         " when they are evicted.");
  if (blocker.count > 0) reply.others.push_back(std::move(blocker));
}

void say_misconfigured(const scheduler::SchedulerView& waits, ExplainReply& reply) {
  reply.say(kMisconfiguredReason, reply.subject() + " is invalid and cannot be admitted, regardless of quota.");
  reply.because.push_back(waits.message);
  reply.change.emplace_back(waits.message == kClaimsDevices
                                ? kClaimsDevicesRemedy
                                : "Correct the requests and limits of its pods, or the LimitRange that is named.");
}

void say_not_looked_at(const ExplainContext& context, const scheduler::SchedulerView& waits, ExplainReply& reply) {
  reply.say(
      kPendingEvaluationReason,
      reply.subject() + " has not been evaluated yet: " +
          (waits.position == 0 ? "it is the first" : std::to_string(waits.position) + " workloads are ahead of it") +
          " in ClusterQueue " + waits.cluster_queue + ".");
  if (!waits.message.empty() && !waits.reason.empty()) reply.because.push_back(waits.message);
  reply.change.push_back(waits.outlook);
  if (!context.leads)
    reply.notes.push_back(
        "Answered by a follower: decisions that the leader has not written yet may be missing. Ask again in a second.");
}

void say_turn(const ExplainContext& context, const Workload& workload, const scheduler::SchedulerView& waits,
              ExplainReply& reply) {
  const std::string reason = waits.reason.empty() ? reason_without_decision(workload, waits) : waits.reason;
  const auto& wait_for_pods = context.queues().wait_for_pods_ready;
  const bool may_block = wait_for_pods && wait_for_pods->block_admission;
  const bool hopeless =
      reason == kExceedsMaxQuotaReason || reason == kNoMatchingFlavorReason || reason == kMisconfiguredReason;
  if (may_block && !hopeless) {
    ExplainedOthers blocker = blocker_in(context);
    if (blocker.count > 0 || reason == kWaitingForPodsReadyReason)
      return say_admission_blocked(context, std::move(blocker), reply);
  }
  if (reason == kWaitingForQuotaReason) return say_waiting_for_quota(waits, reply);
  if (reason == kExceedsMaxQuotaReason) return say_never_fits(waits, reply);
  if (reason == kNoMatchingFlavorReason) return say_no_flavor(waits, reply);
  if (reason == kWaitingForPreemptedWorkloadsReason) return say_waiting_for_victims(context, workload, waits, reply);
  if (reason == kWaitingForProtectedWorkloadsReason) return say_waiting_for_protected(workload, waits, reply);
  if (reason == kMisconfiguredReason) return say_misconfigured(waits, reply);
  say_not_looked_at(context, waits, reply);
}

// An API server that has time accepts an admission within some milliseconds.
constexpr Duration kLongWrite = std::chrono::seconds(5);

void say_unwritten(Duration since, const std::string& cluster_queue, ExplainReply& reply) {
  reply.say("AdmissionNotWritten", reply.subject() + " got its turn in ClusterQueue " + cluster_queue + " " +
                                       format_duration(std::chrono::floor<std::chrono::seconds>(since)) +
                                       " ago, and the API server has not accepted its admission yet.");
  reply.change.push_back(
      "Nothing to do for its owner: muster sends the admission until the API server accepts it. An administrator can "
      "see in muster's metrics (rest_client_*) and log whether the API server is slow or fails (docs/runbooks.md).");
}

}  // namespace

void explain_waiting(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  const state::QueuesOf queues = state::queues_of(workload, context.state);
  if (explain_local_queue(workload, queues, reply) == reconcilers::Step::kDone ||
      explain_cluster_queue(context, workload, queues, reply) == reconcilers::Step::kDone ||
      explain_gate(workload, reply) == reconcilers::Step::kDone)
    return;
  const state::SchedulerDriver& driver = context.decisions;
  const auto unwritten = driver.unwritten_admission(workload.meta.ns, workload.meta.name, context.now);
  if (unwritten && *unwritten >= kLongWrite) return say_unwritten(*unwritten, queues.cluster_name, reply);
  const auto waits = scheduler::explain_pending(driver.scheduler().state(), workload.meta.ns, workload.meta.name);
  if (unwritten || !waits) {
    reply.say("BeingAdmitted", reply.subject() + " has just got its turn in ClusterQueue " + queues.cluster_name + ".");
    reply.change.push_back("Nothing to do: ask again in a moment.");
    return;
  }
  say_turn(context, workload, *waits, reply);
  if (waits->strict && waits->position > 0)
    reply.because.push_back(
        "The ClusterQueue is StrictFIFO: no Workload is admitted before the first pending Workload.");
  add_rows(waits->flavors, reply);
  add_ahead(*waits, reply);
}

}  // namespace muster::explain
