#include "reconcilers/job/job_workload_owner.h"

#include <algorithm>

#include "api/review/cluster_view.h"
#include "jobs/job_kind.h"

namespace muster {

namespace {

bool has_workload(const ClusterState& state, std::string_view ns, const OwnerReference& owner) {
  const std::vector<const Workload*> workloads = state.workloads_of_owner(owner.uid);
  return std::any_of(workloads.begin(), workloads.end(), [&](const Workload* workload) {
    const OwnerReference& named = *workload->meta.controller;
    return workload->meta.ns == ns && named.name == owner.name && named.kind == owner.kind &&
           named.api_version == owner.api_version;
  });
}

}  // namespace

std::optional<QueuedJob> find_job(const ObjectKey& key, const ClusterState& state) {
  if (key.type->plural == kJobs.plural) {
    if (const Job* job = state.job(key.ns, key.name)) return QueuedJob(*job);
  } else if (key.type->plural == kJobSets.plural) {
    if (const JobSet* set = state.jobset(key.ns, key.name)) return QueuedJob(*set);
  }
  return std::nullopt;
}

OwnerLookup owners_in(const ClusterState& state, const std::string& ns) {
  return [&state, &ns](const OwnerReference& owner) -> std::optional<OwnerFacts> {
    const ResourceType* type = job_type_of(owner);
    const TypedObject* job = type == nullptr ? nullptr : state.find(*type, ns, owner.name);
    if (job != nullptr) return owner_facts(meta_of(*job));
    if (type != nullptr || !has_workload(state, ns, owner)) return std::nullopt;
    return OwnerFacts{.uid = owner.uid, .queue_name = {}, .controller = {}, .has_workload = true};
  };
}

}  // namespace muster
