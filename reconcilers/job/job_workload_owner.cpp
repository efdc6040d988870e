#include "reconcilers/job/job_workload_owner.h"

#include <algorithm>

#include "api/review/cluster_view.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {

namespace {

bool has_workload(const state::ClusterState& state, std::string_view ns, const OwnerReference& owner) {
  const std::vector<const Workload*> workloads = state.by(state::kWorkloadsByOwner, {"", owner.uid});
  return std::any_of(workloads.begin(), workloads.end(), [&](const Workload* workload) {
    const OwnerReference& named = *workload->meta.controller;
    return workload->meta.ns == ns && named.name == owner.name && named.kind == owner.kind &&
           named.api_version == owner.api_version;
  });
}

// Finds jobs of this namespace, and owners of other kinds that have a Workload there.
jobs::OwnerLookup owners_in(const state::ClusterState& state, const RuleSettings& settings, const std::string& ns) {
  return [&state, &settings, &ns](const OwnerReference& owner) -> std::optional<OwnerFacts> {
    const jobs::JobKind* kind = jobs::find_owner_kind(owner, settings);
    const TypedObject* job = kind == nullptr ? nullptr : state.find(kind->type, ns, owner.name);
    if (job != nullptr) return owner_facts(meta_of(*job));
    if (kind != nullptr || !has_workload(state, ns, owner)) return std::nullopt;
    return OwnerFacts{.uid = owner.uid, .queue_name = {}, .controller = {}, .has_workload = true};
  };
}

}  // namespace

std::optional<jobs::QueuedJob> find_job(const ObjectKey& key, const state::ClusterState& state) {
  const jobs::JobKind* kind = jobs::find_job_kind(*key.type);
  // A pod is not a job by itself: its group is the job, which another reconciler puts together.
  if (kind != nullptr && kind->has_own_reconciler()) return std::nullopt;
  const TypedObject* object = kind == nullptr ? nullptr : state.find(*key.type, key.ns, key.name);
  if (object == nullptr) return std::nullopt;
  return jobs::QueuedJob(*kind, *object, [&](const ConsultedKind& consulted, std::string_view name) {
    const PlainObject* plain =
        state.find<PlainObject>(consulted.type(), consulted.namespaced ? key.ns : std::string(), name);
    return plain == nullptr ? nullptr : plain->object.get();
  });
}

jobs::MaybeAncestor ancestor_of(const ReconcileContext& context, const ResourceType& type, const ObjectMeta& meta) {
  const RuleSettings& rules = context.queues().rules;
  return jobs::managed_ancestor(rules, owners_in(context.state, rules, meta.ns),
                                {.group = type.group,
                                 .kind = type.kind,
                                 .uid = meta.uid,
                                 .controller = meta.controller,
                                 .owners_are_known = context.now.wall >= to_time_point(meta.created) + kOwnerDelay});
}

}  // namespace muster::reconcilers
