// What a reader cannot list, where the answer is found with the reader's own rights
// (commands/explain/explain_local.h). "Not visible" is never "missing": these come before the sentences that would say
// so.
#include <algorithm>
#include <initializer_list>
#include <set>

#include "api/meta/names.h"
#include "api/workload_conditions.h"
#include "explain/explain_context.h"
#include "jobs/job_kind.h"
#include "kinds/watched_kinds.h"

namespace muster::explain {
namespace {

using Types = std::vector<const ResourceType*>;
using reconcilers::Step;

// An owner of more levels is refused (jobs/management.h).
constexpr int kMostOwners = 10;

// The name of a namespace is a label that every user knows.
bool rests_on_labels(const LabelSelector& selector) {
  const auto& requirements = selector.requirements();
  return std::any_of(requirements.begin(), requirements.end(), [](const LabelRequirement& requirement) {
    return requirement.key != "kubernetes.io/metadata.name";
  });
}

bool names_runtime_class(const Workload& workload) {
  return std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(), [](const PodSet& pod_set) {
    return pod_set.pod_template.spec && !pod_set.pod_template.spec->runtime_class.empty();
  });
}

// LimitRanges and RuntimeClasses add to the requests, Cohorts lend.
Types request_types(const Workload& workload, const ClusterQueue* queue) {
  Types types = {&kLimitRanges};
  if (names_runtime_class(workload)) types.push_back(&kRuntimeClasses);
  if (queue != nullptr && !queue->cohort.empty()) types.push_back(&kCohorts);
  return types;
}

}  // namespace

Step explain_unseen(const ExplainContext& context, std::string_view what, const Types& types, ExplainReply& reply) {
  std::set<std::string> names;
  for (const ResourceType* type : types) {
    if (context.hides(*type))
      names.emplace(type->plural);
    else if (type == &kWorkloads && context.unseen.other_workloads)
      names.emplace("workloads of other namespaces");
  }
  if (names.empty()) return Step::kContinue;
  reply.say(ExplainReason::kUnknown, reply.subject() + ": " + std::string(what) +
                                         " is not known, because you cannot list " +
                                         join({names.begin(), names.end()}, ", ") + ".");
  return Step::kDone;
}

Step explain_unseen_owner(const ExplainContext& context, const jobs::QueuedJob& job, const Workload* workload,
                          ExplainReply& reply) {
  constexpr std::string_view kWhat = "whether it is queued";
  const RuleSettings& rules = context.queues().rules;
  // These come first, and rest on nothing else.
  if (!rules.frameworks.contains(job.kind().framework) || !job.kind().is_managed_by(job.managed_by()))
    return Step::kContinue;
  if (rests_on_labels(rules.managed_jobs_namespace_selector) &&
      explain_unseen(context, kWhat, {&kNamespaces}, reply) == Step::kDone)
    return Step::kDone;
  if (workload != nullptr) return Step::kContinue;
  const ObjectMeta* meta = &job.meta();
  for (int level = 0; level < kMostOwners && meta->controller; ++level) {
    const OwnerReference& owner = *meta->controller;
    const jobs::JobKind* kind = jobs::find_owner_kind(owner, rules);
    const TypedObject* object = kind == nullptr ? nullptr : context.state.find(kind->type, job.meta().ns, owner.name);
    if (object == nullptr) {
      // Of an owner of another kind its Workload tells that it is queued.
      const bool is_external = rules.is_external(owner.api_version, owner.kind);
      if (kind == nullptr && !is_external) return Step::kContinue;
      return explain_unseen(context, kWhat, {kind == nullptr ? &kWorkloads : &kind->type}, reply);
    }
    meta = &meta_of(*object);
  }
  return Step::kContinue;
}

Step explain_unseen_parts(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply) {
  Types types;
  for (const WatchedKind& watched : watched_kinds()) {
    if (!watched.framework.empty() && watched.framework == job.kind().framework) types.push_back(watched.type);
  }
  return explain_unseen(context, "whether its pod templates can be read", types, reply);
}

Step explain_unseen_queues(const ExplainContext& context, const Workload& workload, const state::QueuesOf& queues,
                           ExplainReply& reply) {
  constexpr std::string_view kWhat = "why it is pending";
  if (workload.queue_name.empty()) return Step::kContinue;
  if (queues.local == nullptr) return explain_unseen(context, kWhat, {&kLocalQueues}, reply);
  if (queues.local->stop_policy != StopPolicy::kNone) return Step::kContinue;
  if (queues.cluster == nullptr) return explain_unseen(context, kWhat, {&kClusterQueues}, reply);
  const ClusterQueue& queue = *queues.cluster;
  if (queue.meta.deleting || queue.stop_policy != StopPolicy::kNone) return Step::kContinue;
  Types types;
  if (!flavors_of(queue).empty()) types.push_back(&kResourceFlavors);
  if (!queue.admission_checks.empty()) types.push_back(&kAdmissionChecks);
  if (rests_on_labels(queue.namespace_selector)) types.push_back(&kNamespaces);
  return explain_unseen(context, kWhat, types, reply);
}

Step explain_unseen_turn(const ExplainContext& context, const Workload& workload, const ClusterQueue* queue,
                         std::string_view reason, ExplainReply& reply) {
  constexpr std::string_view kWhat = "why it is pending";
  // More requests or other Workloads do not change these.
  if (reason == kNoMatchingFlavorReason || reason == kMisconfiguredReason) return Step::kContinue;
  if (explain_unseen(context, kWhat, request_types(workload, queue), reply) == Step::kDone) return Step::kDone;
  return reason == kExceedsMaxQuotaReason ? Step::kContinue : explain_unseen(context, kWhat, {&kWorkloads}, reply);
}

bool sees_requests(const ExplainContext& context, const Workload& workload, const ClusterQueue* queue) {
  const Types types = request_types(workload, queue);
  return std::none_of(types.begin(), types.end(), [&](const ResourceType* type) { return context.hides(*type); });
}

bool sees_order(const ExplainContext& context) {
  const auto types = {&kWorkloads, &kLocalQueues, &kClusterQueues, &kCohorts, &kResourceFlavors, &kLimitRanges};
  return !context.unseen.other_workloads &&
         std::none_of(types.begin(), types.end(), [&](const ResourceType* type) { return context.hides(*type); });
}

}  // namespace muster::explain
