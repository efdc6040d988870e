// What is queued as pods: a pod by itself, the pods of a group, and the StatefulSets and LeaderWorkerSets whose groups
// of pods have Workloads.
//
// What a user learns about a pod comes from that pod and from its own Workload. Labels can name any group or set, so a
// Workload counts only if it says itself that it is of this pod; names of other pods are never shown.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "base/ascii.h"
#include "base/whole_number.h"
#include "explain/explain_context.h"
#include "jobs/naming/named_kind.h"
#include "jobs/pod/pod_group.h"
#include "jobs/prebuilt_workload.h"
#include "jobs/serving/serving_set.h"
#include "kinds/serving_types.h"
#include "reconcilers/job/job_workload_make.h"
#include "state/index/indexes.h"

namespace muster::explain {
namespace {

using nlohmann::json;

bool is_owner(const Workload& workload, std::string_view uid) {
  const json owners = json::parse(workload.group_owners_text, nullptr, false);
  return std::any_of(owners.begin(), owners.end(), [&](const json& owner) { return string_at(owner, {"uid"}) == uid; });
}

// Also of a set, whose pods are not owners of its Workloads.
bool is_owned_by_set(const Workload& workload) {
  const json owners = json::parse(workload.group_owners_text, nullptr, false);
  return std::any_of(owners.begin(), owners.end(),
                     [&](const json& owner) { return string_at(owner, {"kind"}) != kPods.kind; });
}

std::vector<QueuedPodPtr> pods_of_workload(const ExplainContext& context, const Workload& workload) {
  const ObjectMeta& meta = workload.meta;
  std::vector<QueuedPodPtr> pods;
  if (const auto& owner = meta.controller) {
    const bool is_pod = owner->kind == kPods.kind && owner->api_version == kPods.api_version;
    QueuedPodPtr pod = is_pod ? context.state.share<QueuedPod>(meta.ns, owner->name) : nullptr;
    if (pod != nullptr && pod->meta.uid == owner->uid) pods.push_back(std::move(pod));
  } else if (workload.of_pod_group()) {
    const bool of_set = is_owned_by_set(workload);
    for (QueuedPodPtr& pod : context.state.share_by(state::kPodsByGroup, {meta.ns, meta.name})) {
      if (of_set ? jobs::is_of_serving_set(*pod) : is_owner(workload, pod->meta.uid)) pods.push_back(std::move(pod));
    }
  }
  return pods;
}

const Workload* workload_of_pod(const ExplainContext& context, const QueuedPod& pod) {
  const std::string group(pod.group());
  if (!group.empty()) {
    const Workload* workload = context.state.find<Workload>(pod.meta.ns, group);
    return workload != nullptr && workload->of_pod_group() && is_owner(*workload, pod.meta.uid) ? workload : nullptr;
  }
  const std::vector<const Workload*> owned = context.state.by(state::kWorkloadsByOwner, {"", pod.meta.uid});
  const auto open = std::find_if(owned.begin(), owned.end(), [](const Workload* each) { return !each->finished(); });
  return open != owned.end() ? *open : owned.empty() ? nullptr : owned.back();
}

// Why the scheduler of Kubernetes has found no node; empty: it has, or has not tried.
std::string unschedulable(const QueuedPod& pod) {
  constexpr size_t kMost = 300;
  for (const json& condition : json::parse(pod.conditions_text, nullptr, false)) {
    if (string_at(condition, {"type"}) != "PodScheduled" || string_at(condition, {"status"}) != "False") continue;
    if (string_at(condition, {"reason"}) == "Unschedulable")
      return std::string(string_at(condition, {"message"}).substr(0, kMost));
  }
  return "";
}

// --- Pods without a Workload ---

PodGroup pod_group_of(const ExplainContext& context, const QueuedPodPtr& pod) {
  const std::string group(pod->group());
  std::vector<QueuedPodPtr> pods = {pod};
  if (!group.empty()) pods = context.state.share_by(state::kPodsByGroup, {pod->meta.ns, group});
  return jobs::make_pod_group(std::move(pods), group, context.queues().rules, context.now.wall);
}

void explain_pod_without_workload(const ExplainContext& context, const QueuedPodPtr& pod, ExplainReply& reply) {
  const auto pods = std::make_shared<const PodGroup>(pod_group_of(context, pod));
  const TypedObject object = pods;
  const jobs::QueuedJob job(jobs::plain_pod, object);
  const reconcilers::JobContext making{context, job};
  reply.add_fact("LocalQueue", std::string(pod->meta.label(kQueueNameLabel)));
  if (!pod->terminated() && explain_unseen(context, kItsState, {&kWorkloads}, reply) == reconcilers::Step::kDone)
    return;
  if (pod->terminated()) {
    reply.say(ExplainReason::kFinished, reply.subject() + (pod->succeeded() ? " has succeeded." : " has failed."));
  } else if (!pod->gated()) {
    reply.say(ExplainReason::kStopping, reply.subject() + " runs without an admitted Workload, and muster deletes it.");
  } else if (const auto prebuilt = jobs::prebuilt_workload_name_of(context.queues().rules, pod->meta);
             prebuilt && pods->group.empty()) {
    reply.say(ExplainReason::kPrebuiltWorkloadMissing,
              reply.subject() + " waits for Workload " + std::string(prebuilt->name) +
                  ", which it names and which does not exist or is another's.");
    reply.change.push_back("Create that Workload, or remove " + prebuilt->field + ".");
  } else if (const auto members = jobs::members_of(*pods); !pods->group.empty() && !members) {
    reply.say(ExplainReason::kPodGroupIncomplete,
              reply.subject() + " waits for the other pods of its group " + pods->group + ".");
    reply.because.push_back(members.error().message + ".");
    if (const auto total = jobs::total_count(*pods))
      reply.because.push_back("The group has " + std::to_string(pods->pods.size()) + " of " + std::to_string(*total) +
                              " pods.");
    reply.change.push_back("Create the missing pods, or correct the annotation " + std::string(kPodGroupTotalCount) +
                           " of all pods of the group.");
  } else if (!reconcilers::priority_of(making)) {
    explain_priority(context, making, reply);
  } else {
    if (explain_rejection(context, key_of(kQueuedPods, pod->meta), reply) == reconcilers::Step::kDone) return;
    reply.say(ExplainReason::kWorkloadNotCreated,
              reply.subject() + " has no Workload yet: muster creates it at once; ask again.");
    reply.change.push_back(
        "If this continues, the leader of muster does not work: look at its log and at the events of the pod.");
  }
}

// Its set is queued as a whole: what of it waits, its owner can say.
void explain_pod_of_set(const QueuedPod& pod, ExplainReply& reply) {
  const bool leads = pod.meta.annotation(kSuspendingParent) == kLeaderWorkerSetFramework;
  const ResourceType& type = leads ? kLeaderWorkerSets : kStatefulSets;
  std::string name(leads ? pod.meta.label(kLeaderWorkerSetName) : std::string_view());
  if (!leads && pod.meta.controller) name = pod.meta.controller->name;
  reply.say(ExplainReason::kOwnedByQueuedJob,
            reply.subject() + " is part of " + std::string(type.kind) + " " + name + ", which is queued as a whole.");
  reply.because.push_back(pod.gated() ? "It has the scheduling gate " + std::string(kAdmissionGate) +
                                            ", which muster removes when its Workload is admitted."
                                      : "It was started: it has no scheduling gate of muster.");
  if (!name.empty())
    reply.change.push_back("Ask about that one: muster explain " + in_small_letters(type.kind) + "/" + name + " -n " +
                           pod.meta.ns);
}

// --- Sets ---

// Its Workloads by the number of their group: what only says that it is of the set does not count.
std::map<int32_t, const Workload*> workloads_of(const ExplainContext& context, const DescribedJob& set) {
  const RuleSettings& rules = context.queues().rules;
  std::map<int32_t, const Workload*> workloads;
  for (const Workload* workload : context.state.by(state::kWorkloadsByServingSet, {set.meta.ns, set.meta.uid})) {
    if (!workload->of_pod_group()) continue;
    const int32_t group = whole_number<int32_t>(workload->meta.annotation(jobs::kComponentIndex)).value_or(0);
    const bool named = workload->meta.name == jobs::serving_workload_name(set, group, rules) ||
                       (jobs::is_stateful_set(set) && workload->meta.name == jobs::older_workload_name(set, rules));
    if (named) workloads.emplace(group, workload);
  }
  return workloads;
}

bool is_admitted(const Workload& workload) {
  return workload.admitted() && workload.has_quota_reserved() && !workload.evicted();
}

void explain_groups(const ExplainContext& context, const std::map<int32_t, const Workload*>& groups,
                    ExplainReply& reply) {
  const auto first = std::find_if(groups.begin(), groups.end(), [](const auto& entry) {
    return !is_admitted(*entry.second) && !entry.second->finished();
  });
  const auto& [number, workload] = first == groups.end() ? *groups.begin() : *first;
  explain_workload(context, *workload, std::nullopt, reply);
  if (groups.size() < 2) return;
  const auto admitted =
      std::count_if(groups.begin(), groups.end(), [](const auto& entry) { return is_admitted(*entry.second); });
  reply.because.insert(reply.because.begin(),
                       "It has " + std::to_string(groups.size()) +
                           " groups with a Workload, each admitted as a whole: " + std::to_string(admitted) +
                           " are admitted. This is about group " + std::to_string(number) + ".");
}

}  // namespace

reconcilers::Step explain_pods_of_workload(const ExplainContext& context, const Workload& workload,
                                           ExplainReply& reply) {
  const auto& owner = workload.meta.controller;
  const bool is_of_pods = workload.of_pod_group() || (owner && owner->kind == kPods.kind);
  if (is_of_pods && explain_unseen(context, kStateOfPods, {&kQueuedPods}, reply) == reconcilers::Step::kDone)
    return reconcilers::Step::kDone;
  const std::vector<QueuedPodPtr> pods = pods_of_workload(context, workload);
  if (pods.empty() && !workload.of_pod_group()) return reconcilers::Step::kContinue;
  const auto count = [&](auto is) {
    return std::count_if(pods.begin(), pods.end(), [&](const QueuedPodPtr& pod) { return is(*pod); });
  };
  const auto ready = count([](const QueuedPod& pod) { return pod.ready || pod.succeeded(); });
  const auto gated = count([](const QueuedPod& pod) { return pod.gated() && !pod.terminated(); });
  int64_t wanted = 0;
  for (const PodSet& pod_set : workload.pod_sets) wanted += pod_set.count;
  const std::string counts = std::to_string(ready) + " of its " + std::to_string(wanted) + " pods are ready";
  reply.add_fact("Pods", std::to_string(ready) + "/" + std::to_string(wanted) + " ready, " + std::to_string(gated) +
                             " with muster's gate, " + std::to_string(pods.size()) + " exist");
  if (gated > 0) {
    reply.say(ExplainReason::kStarting, reply.subject() + " is admitted and about to be started.");
    reply.change.push_back("Nothing to do: ask again in a moment.");
  } else if (ready >= wanted) {
    reply.say(ExplainReason::kRunning, reply.subject() + " is running: " + counts + ".");
  } else {
    reply.say(ExplainReason::kPodsNotReady, reply.subject() + " is admitted, and " + counts + ".");
    // A reader of the pod itself can see this there.
    const QueuedPodPtr asked =
        reply.kind == kPods.kind ? context.state.share<QueuedPod>(reply.ns, reply.name) : QueuedPodPtr();
    const std::string why = asked == nullptr ? "" : unschedulable(*asked);
    if (!why.empty()) reply.because.push_back("It is Unschedulable: " + why);
    reply.change.push_back(kubectl(reply.ns, "describe pod" + (asked == nullptr ? "s" : " " + reply.name)) +
                           " says why pods are not ready.");
  }
  return reconcilers::Step::kDone;
}

void explain_pod(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply) {
  const QueuedPodPtr pod = context.state.share<QueuedPod>(key.ns, key.name);
  if (pod == nullptr || !jobs::is_managed(*pod)) {
    reply.found = false;
    reply.say(ExplainReason::kNotFound,
              "muster knows no " + reply.subject() + ": it does not exist, or it is in no queue.");
    reply.change.push_back(kubectl(key.ns, "get pod " + key.name) + " shows whether it exists.");
    return;
  }
  if (jobs::is_of_serving_set(*pod)) return explain_pod_of_set(*pod, reply);
  const Workload* workload = workload_of_pod(context, *pod);
  if (pod->meta.deleting) {
    reply.say(ExplainReason::kBeingDeleted, reply.subject() + " is being deleted.");
    if (workload != nullptr) reply.add_fact("Workload", workload->meta.name);
    return;
  }
  if (workload == nullptr) return explain_pod_without_workload(context, pod, reply);
  explain_workload(context, *workload, std::nullopt, reply);
  if (!pod->group().empty())
    reply.because.push_back("It is one of the pods of group " + std::string(pod->group()) +
                            ", which is admitted as a whole.");
}

void explain_set(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply) {
  const TypedObject* object = context.state.find(*key.type, key.ns, key.name);
  const auto* found = object == nullptr ? nullptr : std::get_if<DescribedJobPtr>(object);
  if (found == nullptr) return say_not_found(context, key, reply);
  const DescribedJob& set = **found;
  const std::map<int32_t, const Workload*> groups = workloads_of(context, set);
  if (set.meta.deleting) {
    reply.say(ExplainReason::kBeingDeleted, reply.subject() + " is being deleted.");
  } else if (!groups.empty()) {
    explain_groups(context, groups, reply);
  } else if (set.meta.label(kQueueNameLabel).empty() && !context.queues().rules.manage_jobs_without_queue_name) {
    reply.say(ExplainReason::kNoQueueName,
              reply.subject() + " is in no queue: it has no label " + std::string(kQueueNameLabel) + ".");
    reply.change.push_back("Its pods run without quota. To queue it, create it with that label.");
  } else if (jobs::serving_set_of(set).groups == 0) {
    reply.say(ExplainReason::kNoReplicas, reply.subject() + " has no replicas, and so no Workload.");
    reply.change.push_back(
        kubectl(key.ns, "scale " + in_small_letters(key.type->kind) + " " + key.name + " --replicas=1") +
        " starts one.");
  } else if (explain_unseen(context, kItsState, {&kWorkloads}, reply) == reconcilers::Step::kContinue &&
             explain_rejection(context, key_of(*key.type, set.meta), reply) == reconcilers::Step::kContinue) {
    reply.say(ExplainReason::kWorkloadNotCreated,
              reply.subject() + " has no Workload yet: muster creates it at once; ask again.");
    reply.change.push_back(
        "If this continues, the leader of muster does not work: look at its log and at the events of the object.");
  }
}

void explain_unwatched(const ObjectKey& key, ExplainReply& reply) {
  reply.found = false;
  reply.say(ExplainReason::kKindNotWatched,
            "muster does not watch objects of kind " + reply.kind + ": what they make is queued, if it names a queue.");
  reply.change.push_back("kubectl muster explain " + in_small_letters(key.type->kind) + "/" + key.name + " -n " +
                         key.ns + " reads the object with your rights and names what it has made.");
}

}  // namespace muster::explain
