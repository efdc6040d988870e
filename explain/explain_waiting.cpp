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
#include "scheduler/scheduler.h"
#include "scheduler/views/explanation.h"

namespace muster::explain {
namespace {

std::string text(const std::string& resource, int64_t amount) {
  return to_quantity(resource, amount).text();
}

// --- Queues that keep it out ---

reconcilers::Step explain_local_queue(const ExplainContext& context, const Workload& workload,
                                      const state::QueuesOf& queues, ExplainReply& reply) {
  const std::string& name = workload.queue_name;
  const std::string& ns = workload.meta.ns;
  if (name.empty()) {
    reply.say(ExplainReason::kNoQueueName, reply.subject() + " names no LocalQueue.");
    Words words = words_of_job(context, workload);
    if (std::string only = only_local_queue(context, ns); !only.empty()) words.emplace("meant", std::move(only));
    add_remedies(Cause::kWorkloadInNoQueue, std::move(words), reply);
    return reconcilers::Step::kDone;
  }
  if (queues.local == nullptr) {
    reply.say(ExplainReason::kLocalQueueMissing,
              reply.subject() + " waits for LocalQueue " + name + ", which does not exist in " + ns + ".");
    Words words = words_of_job(context, workload);
    words.emplace("queue", name);
    if (std::string near = nearest_name(context, kLocalQueues, ns, name); !near.empty())
      words.emplace("meant", std::move(near));
    add_remedies(Cause::kLocalQueueMissing, std::move(words), reply);
    return reconcilers::Step::kDone;
  }
  if (queues.local->stop_policy == StopPolicy::kNone) return reconcilers::Step::kContinue;
  reply.say(ExplainReason::kLocalQueueStopped, reply.subject() + " waits because LocalQueue " + name + " is stopped.");
  add_remedies(Cause::kLocalQueueStopped, {{"queue", name}}, reply);
  return reconcilers::Step::kDone;
}

// A flavor that a ClusterQueue names and that does not exist is the usual case.
void add_inactive_remedies(const ExplainContext& context, const ClusterQueue& queue, ExplainReply& reply) {
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      if (context.state.find<ResourceFlavor>(flavor.name) != nullptr) continue;
      Words words = {{"cq", queue.meta.name}, {"flavor", flavor.name}};
      if (std::string near = nearest_name(context, kResourceFlavors, "", flavor.name); !near.empty())
        words.emplace("meant", std::move(near));
      add_remedies(Cause::kFlavorMissing, std::move(words), reply);
    }
  }
  if (reply.actions.empty()) add_remedies(Cause::kClusterQueueInactive, {{"cq", queue.meta.name}}, reply);
}

reconcilers::Step explain_cluster_queue(const ExplainContext& context, const Workload& workload,
                                        const state::QueuesOf& queues, ExplainReply& reply) {
  const std::string& name = queues.cluster_name;
  if (queues.cluster == nullptr) {
    reply.say(ExplainReason::kClusterQueueMissing,
              reply.subject() + " waits for ClusterQueue " + name + ", which does not exist.");
    reply.because.push_back("LocalQueue " + workload.queue_name + " names it.");
    add_remedies(Cause::kClusterQueueMissing, {{"cq", name}}, reply);
    return reconcilers::Step::kDone;
  }
  if (const auto inactive = scheduler::why_inactive(context.decisions.scheduler().state(), name)) {
    const bool stopped = inactive->reason == kStoppedReason;
    reply.say(stopped ? ExplainReason::kClusterQueueStopped : ExplainReason::kClusterQueueInactive,
              reply.subject() + " waits because ClusterQueue " + name +
                  (stopped ? " is stopped." : " cannot admit anything (" + inactive->reason + ")."));
    // Of a stopped one the message can name what is only unseen.
    if (!stopped || (!context.hides(kResourceFlavors) && !context.hides(kAdmissionChecks)))
      reply.because.push_back("ClusterQueue " + name + ": " + inactive->message);
    if (stopped)
      add_remedies(Cause::kClusterQueueStopped, {{"cq", name}}, reply);
    else
      add_inactive_remedies(context, *queues.cluster, reply);
    return reconcilers::Step::kDone;
  }
  const TypedObject* ns = context.state.find(kNamespaces, "", workload.meta.ns);
  if (ns == nullptr || queues.cluster->namespace_selector.matches(meta_of(*ns).labels))
    return reconcilers::Step::kContinue;
  reply.say(ExplainReason::kNamespaceNotAdmitted, reply.subject() + " waits because ClusterQueue " + name +
                                                      " does not admit workloads of namespace " + workload.meta.ns +
                                                      ".");
  reply.because.push_back("Its spec.namespaceSelector does not match the labels of the namespace.");
  add_remedies(Cause::kNamespaceNotAdmitted,
               {{"cq", name}, {"patch", labels_patch(queues.cluster->namespace_selector, meta_of(*ns).labels)}}, reply);
  return reconcilers::Step::kDone;
}

reconcilers::Step explain_gate(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  const std::string gates(workload.meta.annotation(kAdmissionGatedByAnnotation));
  if (gates.empty()) return reconcilers::Step::kContinue;
  reply.say(ExplainReason::kAdmissionGated, reply.subject() + " waits for its admission gates: " + gates + ".");
  add_remedies(Cause::kAdmissionGated, words_of_job(context, workload), reply);
  return reconcilers::Step::kDone;
}

// --- Other Workloads ---

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

void add_rows(const ExplainContext& context, std::vector<scheduler::FlavorRow> rows, ExplainReply& reply) {
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
    // What is invalid gets no quota, whatever is free.
    if (reply.says(ExplainReason::kMisconfigured) && row.fits()) shown.verdict.clear();
    if (context.unseen.other_workloads && row.could_fit()) shown.verdict.clear();
    if (!row.flavor.empty()) {
      if (!context.unseen.other_workloads) shown.free = text(row.resource, row.free);
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

void say_no_flavor(const ExplainContext& context, const Workload& workload, const scheduler::SchedulerView& waits,
                   ExplainReply& reply) {
  reply.say(ExplainReason::kNoMatchingFlavor,
            reply.subject() + " cannot run on any flavor of ClusterQueue " + waits.cluster_queue + ".");
  for (const scheduler::FlavorRow& row : waits.flavors) {
    if (row.suitable) continue;
    std::string why = row.flavor.empty() ? "Resource " + row.resource + ": " + row.verdict + "."
                                         : "Flavor " + row.flavor + ": " + row.verdict + ".";
    if (std::find(reply.because.begin(), reply.because.end(), why) == reply.because.end())
      reply.because.push_back(std::move(why));
  }
  add_flavor_remedies(context, workload, waits, reply);
}

void say_waiting_for_quota(const ExplainContext& context, const Workload& workload,
                           const scheduler::SchedulerView& waits, ExplainReply& reply) {
  const std::string queue = "ClusterQueue " + waits.cluster_queue;
  const scheduler::FlavorRow* row = worst(waits.flavors, &scheduler::FlavorRow::fits);
  if (row != nullptr && !row->suitable) return say_no_flavor(context, workload, waits, reply);
  const auto short_one = std::find_if(waits.flavors.begin(), waits.flavors.end(),
                                      [](const scheduler::FlavorRow& flavor) { return !flavor.shortage.empty(); });
  if (row == nullptr && short_one != waits.flavors.end()) {
    reply.say(ExplainReason::kWaitingForQuota,
              reply.subject() + " waits in " + queue + ": " + short_one->shortage + ".");
    reply.because.push_back("Its quota is free.");
  } else if (row == nullptr) {
    reply.say(ExplainReason::kWaitingForQuota, reply.subject() + " waits for its turn in " + queue + ".");
    reply.because.push_back(waits.position > 0 ? "Quota is free, but other workloads are ahead of it."
                                               : "Quota is free: it is evaluated again at once.");
  } else {
    reply.say(ExplainReason::kWaitingForQuota, reply.subject() + " waits for quota in " + queue + ": asks for " +
                                                   text(row->resource, row->requested) + " of " + row->resource + ", " +
                                                   text(row->resource, row->free) + " are free in flavor " +
                                                   row->flavor + ".");
  }
  // Without a decision here, the written reason was that of the last evaluation. No other message: those can name the
  // Workloads of others.
  const Condition* written = find_condition(workload.status.conditions, kQuotaReservedCondition);
  if (waits.reason.empty() && written != nullptr && written->reason == kWaitingForQuotaReason) {
    const std::string message = written->message.text();
    reply.because.push_back("Its last evaluation: " + message + (message.ends_with('.') ? "" : "."));
  }
  reply.starts_when(waits.reason.empty() || waits.outlook.empty() ? "Starts when quota is released." : waits.outlook);
  if (row == nullptr) return;
  if (row->requested <= row->nominal)
    reply.because.push_back("The request fits into the nominal quota (" + text(row->resource, row->nominal) + " of " +
                            row->resource + "), which is in use or lent to other queues.");
  add_holders(context, *row, waits.cluster_queue, reply);
  add_remedies(Cause::kQuotaInUse, {{"resource", row->resource}, {"queue", workload.queue_name}}, reply);
}

void say_never_fits(const ExplainContext& context, const Workload& workload, const scheduler::SchedulerView& waits,
                    ExplainReply& reply) {
  const scheduler::FlavorRow* row = worst(waits.flavors, &scheduler::FlavorRow::could_fit);
  const std::string queue = "ClusterQueue " + waits.cluster_queue;
  if (row != nullptr && !row->suitable) return say_no_flavor(context, workload, waits, reply);
  if (row == nullptr) {
    reply.say(ExplainReason::kExceedsMaxQuota, reply.subject() + " requested more than " + queue + " can ever use.");
    reply.because.push_back("That was the result of its last evaluation; by the numbers below it fits now.");
    return;
  }
  reply.say(ExplainReason::kExceedsMaxQuota,
            reply.subject() + " cannot be admitted: it requests " + text(row->resource, row->requested) + " of " +
                row->resource + ", but " + queue + " can use at most " + text(row->resource, row->most) + ".");
  Words words = words_of_job(context, workload);
  words.emplace("cq", waits.cluster_queue);
  words.emplace("resource", row->resource);
  words.emplace("flavor", row->flavor);
  add_remedies(Cause::kQuotaTooSmall, std::move(words), reply);
}

void say_waiting_for_victims(const ExplainContext& context, const Workload& workload,
                             const scheduler::SchedulerView& waits, ExplainReply& reply) {
  ExplainedOthers victims = victims_of(context, workload);
  reply.say(ExplainReason::kWaitingForPreemptedWorkloads,
            victims.count > 0
                ? reply.subject() + " waits for " + std::to_string(victims.count) + " preempted Workload(s) to stop."
                : reply.subject() + " waits for preempted Workloads to stop.");
  reply.because.push_back("Its quota in ClusterQueue " + waits.cluster_queue + " is free once their pods are deleted.");
  add_remedies(Cause::kVictimsStop, {}, reply);
  if (victims.count > 0) reply.others.push_back(std::move(victims));
}

// A follower makes no decisions; the status that the leader has written contains the time.
void say_waiting_for_protected(const Workload& workload, const scheduler::SchedulerView& waits, ExplainReply& reply) {
  reply.say(ExplainReason::kWaitingForProtectedWorkloads,
            reply.subject() + " waits because the Workloads that it could preempt in ClusterQueue " +
                waits.cluster_queue + " or its cohort have started recently and are protected.");
  const Condition* written = find_condition(workload.status.conditions, kQuotaReservedCondition);
  const bool decided = !waits.reason.empty();
  reply.because.push_back(decided || written == nullptr ? waits.message : written->message.text());
  reply.starts_when(decided ? waits.outlook
                            : "Is evaluated again when their protection ends, or when quota is released.");
  add_remedies(Cause::kProtectedWorkloads, {{"cq", waits.cluster_queue}}, reply);
}

// blockAdmission: no Workload is admitted while an admitted Workload is not ready.
void say_admission_blocked(const ExplainContext& context, ExplainedOthers blocker, ExplainReply& reply) {
  reply.say(
      ExplainReason::kWaitingForPodsReady,
      reply.subject() + " waits because nothing is admitted while the pods of an admitted Workload are not ready.");
  reply.because.push_back("waitForPodsReady.blockAdmission is on.");
  add_remedies(
      Cause::kOthersNotReady,
      {{"timeout", format_duration(context.queues().wait_for_pods_ready ? context.queues().wait_for_pods_ready->timeout
                                                                        : Duration::zero())}},
      reply);
  if (blocker.count > 0) reply.others.push_back(std::move(blocker));
}

void say_misconfigured(const ExplainContext& context, const Workload& workload, const scheduler::SchedulerView& waits,
                       ExplainReply& reply) {
  reply.say(ExplainReason::kMisconfigured,
            reply.subject() + " is invalid and cannot be admitted, regardless of quota.");
  reply.because.push_back(waits.message);
  if (waits.message == kClaimsDevices) return add_remedies(Cause::kDevices, {}, reply);
  explain_limits(context, workload, reply);
  if (reply.actions.empty()) add_remedies(Cause::kInvalid, words_of_job(context, workload), reply);
}

void say_not_looked_at(const ExplainContext& context, const scheduler::SchedulerView& waits, ExplainReply& reply) {
  reply.say(
      ExplainReason::kPendingEvaluation,
      reply.subject() + " has not been evaluated yet: " +
          (waits.position == 0 ? "it is the first" : std::to_string(waits.position) + " workloads are ahead of it") +
          " in ClusterQueue " + waits.cluster_queue + ".");
  if (!waits.message.empty() && !waits.reason.empty()) reply.because.push_back(waits.message);
  reply.starts_when(waits.outlook);
  if (!context.leads)
    reply.notes.push_back(
        "Answered by a follower: decisions that the leader has not written yet may be missing. Ask again in a second.");
}

void say_turn(const ExplainContext& context, const Workload& workload, const scheduler::SchedulerView& waits,
              const std::string& reason, ExplainReply& reply) {
  const auto& wait_for_pods = context.queues().wait_for_pods_ready;
  const bool may_block = wait_for_pods && wait_for_pods->block_admission;
  const bool hopeless =
      reason == kExceedsMaxQuotaReason || reason == kNoMatchingFlavorReason || reason == kMisconfiguredReason;
  if (may_block && !hopeless) {
    ExplainedOthers blocker = blocker_in(context);
    if (blocker.count > 0 || reason == kWaitingForPodsReadyReason)
      return say_admission_blocked(context, std::move(blocker), reply);
  }
  if (reason == kWaitingForQuotaReason) return say_waiting_for_quota(context, workload, waits, reply);
  if (reason == kExceedsMaxQuotaReason) return say_never_fits(context, workload, waits, reply);
  if (reason == kNoMatchingFlavorReason) return say_no_flavor(context, workload, waits, reply);
  if (reason == kWaitingForPreemptedWorkloadsReason) return say_waiting_for_victims(context, workload, waits, reply);
  if (reason == kWaitingForProtectedWorkloadsReason) return say_waiting_for_protected(workload, waits, reply);
  if (reason == kMisconfiguredReason) return say_misconfigured(context, workload, waits, reply);
  say_not_looked_at(context, waits, reply);
}

// An API server that has time accepts an admission within some milliseconds.
constexpr Duration kLongWrite = std::chrono::seconds(5);

void say_unwritten(Duration since, const std::string& cluster_queue, ExplainReply& reply) {
  reply.say(ExplainReason::kAdmissionNotWritten, reply.subject() + " got its turn in ClusterQueue " + cluster_queue +
                                                     " " +
                                                     format_duration(std::chrono::floor<std::chrono::seconds>(since)) +
                                                     " ago, and the API server has not accepted its admission yet.");
  add_remedies(Cause::kAdmissionUnwritten, {}, reply);
}

}  // namespace

void explain_waiting(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  const state::QueuesOf queues = state::queues_of(workload, context.state);
  if (explain_unseen_queues(context, workload, queues, reply) == reconcilers::Step::kDone ||
      explain_local_queue(context, workload, queues, reply) == reconcilers::Step::kDone ||
      explain_cluster_queue(context, workload, queues, reply) == reconcilers::Step::kDone ||
      explain_gate(context, workload, reply) == reconcilers::Step::kDone)
    return;
  const state::SchedulerDriver& driver = context.decisions;
  const auto unwritten = driver.unwritten_admission(workload.meta.ns, workload.meta.name, context.now);
  if (unwritten && *unwritten >= kLongWrite) return say_unwritten(*unwritten, queues.cluster_name, reply);
  const auto waits = scheduler::explain_pending(driver.scheduler().state(), workload.meta.ns, workload.meta.name);
  if (unwritten || !waits) {
    reply.say(ExplainReason::kBeingAdmitted,
              reply.subject() + " has just got its turn in ClusterQueue " + queues.cluster_name + ".");
    add_remedies(Cause::kBeingAdmitted, {}, reply);
    return;
  }
  const std::string reason = waits->reason.empty() ? reason_without_decision(workload, *waits) : waits->reason;
  if (explain_unseen_turn(context, workload, queues.cluster, reason, reply) == reconcilers::Step::kDone) return;
  say_turn(context, workload, *waits, reason, reply);
  if (waits->strict && waits->position > 0)
    reply.because.push_back(
        "The ClusterQueue is StrictFIFO: no Workload is admitted before the first pending Workload.");
  if (sees_requests(context, workload, queues.cluster)) add_rows(context, waits->flavors, reply);
  if (!context.unseen.other_workloads) add_ahead(*waits, reply);
}

}  // namespace muster::explain
