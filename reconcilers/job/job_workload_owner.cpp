#include "reconcilers/job/job_workload_owner.h"

#include "api/review/cluster_view.h"
#include "jobs/job_kind.h"

namespace muster {

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
    return job == nullptr ? std::nullopt : std::optional(owner_facts(meta_of(*job)));
  };
}

}  // namespace muster
