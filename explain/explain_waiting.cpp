// A Workload without quota: its queues, then its turn, then the numbers.
#include <algorithm>
#include <map>
#include <set>

#include "api/meta/constants.h"
#include "api/requests.h"
#include "api/texts/workload_texts.h"
#include "api/workload_conditions.h"
#include "explain/explain_scene.h"
#include "reconcilers/queues/cluster_queue.h"
#include "reconcilers/workload/workload_queues.h"
#include "state/admissions.h"

namespace muster {
namespace {

constexpr size_t kMostNamed = 10;

std::string text(const std::string& resource, int64_t amount) {
  return to_quantity(resource, amount).text();
}

// --- Queues that keep it out ---

bool blocked_by_local_queue(const Workload& workload, const QueuesOf& queues, Explained& told) {
  const std::string& name = workload.queue_name;
  const std::string& ns = workload.meta.ns;
  if (name.empty()) {
    told.say("NoQueueName", told.subject() + " names no LocalQueue.");
    told.change.push_back("Give its job the label " + std::string(kQueueNameLabel) + ".");
    return true;
  }
  if (queues.local == nullptr) {
    told.say("LocalQueueMissing",
             told.subject() + " waits for LocalQueue " + name + ", which does not exist in " + ns + ".");
    told.change.push_back("Create that LocalQueue, or name another in the job's label " + std::string(kQueueNameLabel) +
                          "; " + kubectl(ns, "get localqueues") + " lists them.");
    return true;
  }
  if (queues.local->stop_policy == StopPolicy::kNone) return false;
  told.say("LocalQueueStopped", told.subject() + " waits because LocalQueue " + name + " is stopped.");
  told.change.push_back("To resume, set spec.stopPolicy of LocalQueue " + name + " to None.");
  return true;
}

bool blocked_by_cluster_queue(const ExplainScene& scene, const Workload& workload, const QueuesOf& queues,
                              Explained& told) {
  const std::string& name = queues.cluster_name;
  if (queues.cluster == nullptr) {
    told.say("ClusterQueueMissing", told.subject() + " waits for ClusterQueue " + name + ", which does not exist.");
    told.because.push_back("LocalQueue " + workload.queue_name + " names it.");
    told.change.push_back("Ask an administrator to create ClusterQueue " + name +
                          ", or use a LocalQueue of another ClusterQueue.");
    return true;
  }
  if (const auto inactive = scene.state.admissions().scheduler().why_inactive(name)) {
    const bool stopped = inactive->reason == kStoppedReason;
    told.say(stopped ? "ClusterQueueStopped" : "ClusterQueueInactive",
             told.subject() + " waits because ClusterQueue " + name +
                 (stopped ? " is stopped." : " cannot admit anything (" + inactive->reason + ")."));
    told.because.push_back("ClusterQueue " + name + ": " + inactive->message);
    told.change.push_back(stopped ? "To resume, set spec.stopPolicy of ClusterQueue " + name + " to None."
                                  : "Ask an administrator to create the missing objects, or to remove them from the "
                                    "spec of the ClusterQueue.");
    return true;
  }
  const TypedObject* ns = scene.state.find(kNamespaces, "", workload.meta.ns);
  if (ns == nullptr || queues.cluster->namespace_selector.matches(meta_of(*ns).labels)) return false;
  told.say("NamespaceNotAdmitted", told.subject() + " waits because ClusterQueue " + name +
                                       " does not admit workloads of namespace " + workload.meta.ns + ".");
  told.because.push_back("Its spec.namespaceSelector does not match the labels of the namespace.");
  told.change.push_back(
      "Ask an administrator to label the namespace, or to change spec.namespaceSelector of ClusterQueue " + name + ".");
  return true;
}

bool blocked_by_gate(const Workload& workload, Explained& told) {
  const std::string gates(workload.meta.annotation(kAdmissionGatedByAnnotation));
  if (gates.empty()) return false;
  told.say(kAdmissionGatedReason, told.subject() + " waits for its admission gates: " + gates + ".");
  told.change.push_back("To queue it, remove the gates from the annotation " +
                        std::string(kAdmissionGatedByAnnotation) + ".");
  return true;
}

// --- Other Workloads ---

// Evicted for this one, and still holding quota. Who a Workload was evicted for stands in the
// condition, by uid.
ExplainedOthers victims_of(const ExplainScene& scene, const Workload& workload) {
  ExplainedOthers victims{.role = std::string(kVictimRole), .count = 0, .names = {}};
  const auto is_victim = [&](const TypedObject& object) {
    const Workload& other = *std::get<WorkloadPtr>(object);
    if (!other.evicted() || !other.has_quota_reserved()) return false;
    const Condition* preempted = find_condition(other.status.conditions, kPreemptedCondition);
    return preempted != nullptr && preempted->is_true() && preemptor_uid_of(preempted->message) == workload.meta.uid;
  };
  for (const TypedObject* victim : scene.state.select(kWorkloads, is_victim)) {
    ++victims.count;
    if (victims.names.size() < kMostNamed) victims.names.push_back({meta_of(*victim).ns, meta_of(*victim).name});
  }
  return victims;
}

// With blockAdmission: the Workload that keeps all others out, if one does.
ExplainedOthers blocker_in(const ExplainScene& scene) {
  ExplainedOthers blocker{.role = std::string(kBlockerRole), .count = 0, .names = {}};
  if (const auto key = scene.state.admissions().blocked_by(scene.now)) {
    blocker.count = 1;
    blocker.names.push_back({key->ns, key->name});
  }
  return blocker;
}

void add_ahead(const Explanation& waits, Explained& told) {
  if (waits.position == 0) return;
  ExplainedOthers ahead{.role = std::string(kAheadRole), .count = static_cast<int64_t>(waits.position), .names = {}};
  for (const std::string& path : waits.ahead) {
    const auto [ns, name] = split_path(path);
    ahead.names.push_back({std::string(ns), std::string(name)});
  }
  told.others.push_back(std::move(ahead));
}

// --- The numbers ---

// How many are missing, per unit that is asked for.
double shortage(const FlavorExplanation& row) {
  if (!row.suitable || row.requested <= row.free) return 0;
  return static_cast<double>(row.requested - row.free) / static_cast<double>(row.requested);
}

// What stands in the way: of each pod set's resource for which no flavor does, the flavor that
// comes nearest; of those the one that is shortest.
const FlavorExplanation* worst(const std::vector<FlavorExplanation>& rows, bool (FlavorExplanation::*does)() const) {
  std::map<std::pair<std::string_view, std::string_view>, const FlavorExplanation*> nearest;
  std::set<std::pair<std::string_view, std::string_view>> satisfied;
  for (const FlavorExplanation& row : rows) {
    const auto key = std::pair<std::string_view, std::string_view>(row.pod_set, row.resource);
    if ((row.*does)()) satisfied.insert(key);
    const FlavorExplanation*& known = nearest[key];
    if (known == nullptr ||
        (row.suitable && (!known->suitable || row.requested - row.free < known->requested - known->free)))
      known = &row;
  }
  const FlavorExplanation* found = nullptr;
  for (const auto& [key, row] : nearest) {
    if (satisfied.contains(key)) continue;
    if (found == nullptr || shortage(*row) > shortage(*found)) found = row;
  }
  return found;
}

void add_rows(std::vector<FlavorExplanation> rows, Explained& told) {
  const auto before = [](const FlavorExplanation& a, const FlavorExplanation& b) {
    return std::pair(-shortage(a), a.suitable) < std::pair(-shortage(b), b.suitable);
  };
  std::stable_sort(rows.begin(), rows.end(), before);
  for (const FlavorExplanation& row : rows) {
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
    told.flavors.push_back(std::move(shown));
  }
}

bool may_shrink(const Workload& workload) {
  return std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(),
                     [](const PodSet& pod_set) { return pod_set.min_count.has_value(); });
}

// A reason where nothing was decided here: what the leader has written, else what the
// numbers say.
std::string reason_without_decision(const Workload& workload, const Explanation& waits) {
  const Condition* written = find_condition(workload.status.conditions, kQuotaReservedCondition);
  if (written != nullptr && !written->is_true()) {
    for (std::string_view token :
         {kWaitingForQuotaReason, kExceedsMaxQuotaReason, kNoMatchingFlavorReason, kWaitingForPreemptedWorkloadsReason,
          kWaitingForProtectedWorkloadsReason, kWaitingForPodsReadyReason}) {
      if (written->reason == token) return written->reason;
    }
  }
  if (may_shrink(workload)) return "";
  const FlavorExplanation* never = worst(waits.flavors, &FlavorExplanation::could_fit);
  if (never == nullptr) return "";
  return std::string(never->suitable ? kExceedsMaxQuotaReason : kNoMatchingFlavorReason);
}

// --- Words ---

void say_no_flavor(const Explanation& waits, Explained& told) {
  told.say(kNoMatchingFlavorReason,
           told.subject() + " cannot run on any flavor of ClusterQueue " + waits.cluster_queue + ".");
  for (const FlavorExplanation& row : waits.flavors) {
    if (row.suitable) continue;
    std::string why = row.flavor.empty() ? "Resource " + row.resource + ": " + row.verdict + "."
                                         : "Flavor " + row.flavor + ": " + row.verdict + ".";
    if (std::find(told.because.begin(), told.because.end(), why) == told.because.end())
      told.because.push_back(std::move(why));
  }
  told.change.push_back(
      "Change tolerations, node selector, affinity or requested resources of its pods, or have an administrator add a "
      "flavor that suits them.");
}

void say_waiting_for_quota(const Explanation& waits, Explained& told) {
  const std::string queue = "ClusterQueue " + waits.cluster_queue;
  const FlavorExplanation* row = worst(waits.flavors, &FlavorExplanation::fits);
  if (row != nullptr && !row->suitable) return say_no_flavor(waits, told);
  if (row == nullptr) {
    told.say(kWaitingForQuotaReason, told.subject() + " waits for its turn in " + queue + ".");
    told.because.push_back(waits.position > 0 ? "Quota is free, but other workloads are ahead of it."
                                              : "Quota is free: it is evaluated again at once.");
  } else {
    told.say(kWaitingForQuotaReason, told.subject() + " waits for quota in " + queue + ": asks for " +
                                         text(row->resource, row->requested) + " of " + row->resource + ", " +
                                         text(row->resource, row->free) + " are free in flavor " + row->flavor + ".");
  }
  told.change.push_back(waits.outlook.empty() ? "Starts when quota is released." : waits.outlook);
  if (row != nullptr && row->requested <= row->nominal)
    told.change.push_back("The request fits into the nominal quota (" + text(row->resource, row->nominal) + " of " +
                          row->resource + "), which is in use or lent to other queues.");
}

void say_never_fits(const Explanation& waits, Explained& told) {
  const FlavorExplanation* row = worst(waits.flavors, &FlavorExplanation::could_fit);
  const std::string queue = "ClusterQueue " + waits.cluster_queue;
  if (row != nullptr && !row->suitable) return say_no_flavor(waits, told);
  if (row == nullptr) {
    told.say(kExceedsMaxQuotaReason, told.subject() + " requested more than " + queue + " can ever use.");
    told.because.push_back("That was the result of its last evaluation; by the numbers below it fits now.");
    return;
  }
  told.say(kExceedsMaxQuotaReason, told.subject() + " cannot be admitted: it requests " +
                                       text(row->resource, row->requested) + " of " + row->resource + ", but " + queue +
                                       " can use at most " + text(row->resource, row->most) + ".");
  told.change.push_back(
      "Lower the requests or the parallelism of the job, or have an administrator raise nominalQuota "
      "or borrowingLimit of " +
      row->resource + " in flavor " + row->flavor + " (or the quota of the cohort).");
}

void say_waiting_for_victims(const ExplainScene& scene, const Workload& workload, const Explanation& waits,
                             Explained& told) {
  ExplainedOthers victims = victims_of(scene, workload);
  told.say(kWaitingForPreemptedWorkloadsReason,
           victims.count > 0
               ? told.subject() + " waits for " + std::to_string(victims.count) + " preempted Workload(s) to stop."
               : told.subject() + " waits for preempted Workloads to stop.");
  told.because.push_back("Its quota in ClusterQueue " + waits.cluster_queue + " is free once their pods are gone.");
  told.change.push_back("Nothing to do: it starts when they have stopped, as their grace periods allow.");
  if (victims.count > 0) told.others.push_back(std::move(victims));
}

// A follower has decided nothing; what the leader has written names the time.
void say_waiting_for_protected(const Workload& workload, const Explanation& waits, Explained& told) {
  told.say(kWaitingForProtectedWorkloadsReason,
           told.subject() + " waits because the Workloads that it could preempt in ClusterQueue " +
               waits.cluster_queue + " or its cohort have started recently and are protected.");
  const Condition* written = find_condition(workload.status.conditions, kQuotaReservedCondition);
  const bool decided = !waits.reason.empty();
  told.because.push_back(decided || written == nullptr ? waits.message : written->message.text());
  told.change.push_back(decided ? waits.outlook
                                : "Is evaluated again when their protection ends, or when quota is released.");
  told.change.push_back("An administrator can shorten the wait with the annotation " +
                        std::string(kPreemptionProtectionLimitAnnotation) + " of ClusterQueue " + waits.cluster_queue +
                        ".");
}

// blockAdmission: nothing is admitted while an admitted Workload is not ready.
void say_admission_blocked(const ExplainScene& scene, ExplainedOthers blocker, Explained& told) {
  told.say(kWaitingForPodsReadyReason,
           told.subject() + " waits because nothing is admitted while the pods of an admitted Workload are not ready.");
  told.because.push_back("waitForPodsReady.blockAdmission is on.");
  told.change.push_back("It is evaluated again when they are ready, or after their timeout of " +
                        format_duration(scene.queues().wait_for_pods_ready ? scene.queues().wait_for_pods_ready->timeout
                                                                           : Duration::zero()) +
                        " when they are evicted.");
  if (blocker.count > 0) told.others.push_back(std::move(blocker));
}

void say_misconfigured(const Explanation& waits, Explained& told) {
  told.say(kMisconfiguredReason, told.subject() + " is invalid and cannot be admitted, regardless of quota.");
  told.because.push_back(waits.message);
  told.change.push_back("Correct the requests and limits of its pods, or the LimitRange that is named.");
}

void say_not_looked_at(const ExplainScene& scene, const Explanation& waits, Explained& told) {
  told.say(
      kPendingEvaluationReason,
      told.subject() + " has not been evaluated yet: " +
          (waits.position == 0 ? "it is the first" : std::to_string(waits.position) + " workloads are ahead of it") +
          " in ClusterQueue " + waits.cluster_queue + ".");
  if (!waits.message.empty() && !waits.reason.empty()) told.because.push_back(waits.message);
  told.change.push_back(waits.outlook);
  if (!scene.leads)
    told.notes.push_back(
        "Answered by a follower: decisions that the leader has not written yet may be missing. Ask again in a second.");
}

void say_turn(const ExplainScene& scene, const Workload& workload, const Explanation& waits, Explained& told) {
  const std::string reason = waits.reason.empty() ? reason_without_decision(workload, waits) : waits.reason;
  const auto& wait_for_pods = scene.queues().wait_for_pods_ready;
  const bool may_block = wait_for_pods && wait_for_pods->block_admission;
  const bool hopeless =
      reason == kExceedsMaxQuotaReason || reason == kNoMatchingFlavorReason || reason == kMisconfiguredReason;
  if (may_block && !hopeless) {
    ExplainedOthers blocker = blocker_in(scene);
    if (blocker.count > 0 || reason == kWaitingForPodsReadyReason)
      return say_admission_blocked(scene, std::move(blocker), told);
  }
  if (reason == kWaitingForQuotaReason) return say_waiting_for_quota(waits, told);
  if (reason == kExceedsMaxQuotaReason) return say_never_fits(waits, told);
  if (reason == kNoMatchingFlavorReason) return say_no_flavor(waits, told);
  if (reason == kWaitingForPreemptedWorkloadsReason) return say_waiting_for_victims(scene, workload, waits, told);
  if (reason == kWaitingForProtectedWorkloadsReason) return say_waiting_for_protected(workload, waits, told);
  if (reason == kMisconfiguredReason) return say_misconfigured(waits, told);
  say_not_looked_at(scene, waits, told);
}

}  // namespace

void explain_waiting(const ExplainScene& scene, const Workload& workload, Explained& told) {
  const QueuesOf queues = queues_of(workload, scene.state);
  if (blocked_by_local_queue(workload, queues, told) || blocked_by_cluster_queue(scene, workload, queues, told) ||
      blocked_by_gate(workload, told))
    return;
  const Admissions& admissions = scene.state.admissions();
  const Ruling* ruling = admissions.ruling_on(workload.meta.ns, workload.meta.name);
  const auto waits = admissions.scheduler().explain(workload.meta.ns, workload.meta.name);
  if ((ruling != nullptr && std::holds_alternative<Admitted>(*ruling)) || !waits) {
    told.say("BeingAdmitted", told.subject() + " has just got its turn in ClusterQueue " + queues.cluster_name + ".");
    told.change.push_back("Nothing to do: ask again in a moment.");
    return;
  }
  say_turn(scene, workload, *waits, told);
  if (waits->strict && waits->position > 0)
    told.because.push_back("The ClusterQueue is StrictFIFO: nobody passes the first one that waits.");
  add_rows(waits->flavors, told);
  add_ahead(*waits, told);
}

}  // namespace muster
