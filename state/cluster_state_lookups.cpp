// Lookups in the state: one object by its name, or all objects of an index entry.
#include "api/cluster_queue.h"
#include "api/config_map.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/limit_range.h"
#include "api/pods/in_place_pod.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "kinds/described_job.h"
#include "kinds/serving_types.h"
#include "state/cluster_state.h"
#include "state/typed_pointer.h"

namespace muster::state {
namespace {

bool is_any(const TypedObject&) {
  return true;
}

}  // namespace

const TypedObject* ClusterState::find(const ResourceType& type, std::string_view ns, std::string_view name) const {
  const auto kind = objects_.find(type.id());
  return kind == objects_.end() ? nullptr : kind->second.find({ns, name});
}

const JobSet* ClusterState::jobset(std::string_view ns, std::string_view name) const {
  return pointer_to<JobSetPtr>(find(kJobSets, ns, name));
}

const Job* ClusterState::job(std::string_view ns, std::string_view name) const {
  return pointer_to<JobPtr>(find(kJobs, ns, name));
}

const ConfigMap* ClusterState::config_map(std::string_view ns, std::string_view name) const {
  return pointer_to<ConfigMapPtr>(find(kConfigMaps, ns, name));
}

const Service* ClusterState::service(std::string_view ns, std::string_view name) const {
  return pointer_to<ServicePtr>(find(kServices, ns, name));
}

const Workload* ClusterState::workload(std::string_view ns, std::string_view name) const {
  return pointer_to<WorkloadPtr>(find(kWorkloads, ns, name));
}

const ClusterQueue* ClusterState::cluster_queue(std::string_view name) const {
  return pointer_to<ClusterQueuePtr>(find(kClusterQueues, "", name));
}

const Cohort* ClusterState::cohort(std::string_view name) const {
  return pointer_to<CohortPtr>(find(kCohorts, "", name));
}

const LocalQueue* ClusterState::local_queue(std::string_view ns, std::string_view name) const {
  return pointer_to<LocalQueuePtr>(find(kLocalQueues, ns, name));
}

const ResourceFlavor* ClusterState::resource_flavor(std::string_view name) const {
  return pointer_to<ResourceFlavorPtr>(find(kResourceFlavors, "", name));
}

const AdmissionCheck* ClusterState::admission_check(std::string_view name) const {
  return pointer_to<AdmissionCheckPtr>(find(kAdmissionChecks, "", name));
}

QueuedPodPtr ClusterState::queued_pod(std::string_view ns, std::string_view name) const {
  const TypedObject* object = find(kQueuedPods, ns, name);
  return object == nullptr ? nullptr : std::get<QueuedPodPtr>(*object);
}

std::vector<const InPlacePod*> ClusterState::in_place_pods(std::string_view ns, std::string_view jobset) const {
  return in_place_pods_.at({ns, jobset});
}

std::vector<QueuedPodPtr> ClusterState::pods_of_group(std::string_view ns, std::string_view group) const {
  return pods_of_group_.shared_at({ns, group});
}

std::vector<QueuedPodPtr> ClusterState::pods_of_serving_set(const ResourceType& type, std::string_view ns,
                                                            std::string_view name) const {
  return type == kStatefulSets ? pods_of_stateful_set_.shared_at({ns, name})
                               : pods_of_leader_worker_set_.shared_at({ns, name});
}

std::vector<const Workload*> ClusterState::workloads_of_serving_set(std::string_view ns, std::string_view uid) const {
  return workloads_of_serving_set_.at({ns, uid});
}

const RuntimeClass* ClusterState::runtime_class(std::string_view name) const {
  return pointer_to<RuntimeClassPtr>(find(kRuntimeClasses, "", name));
}

const PriorityClass* ClusterState::priority_class(const ResourceType& type, std::string_view name) const {
  return pointer_to<PriorityClassPtr>(find(type, "", name));
}

const PriorityClass* ClusterState::default_pod_priority() const {
  const PriorityClass* highest = nullptr;
  for_each_of(kPriorityClasses, [&](const TypedObject& object) {
    const PriorityClass& candidate = *std::get<PriorityClassPtr>(object);
    if (candidate.global_default && (highest == nullptr || candidate.value < highest->value)) highest = &candidate;
  });
  return highest;
}

std::vector<TypedObject> ClusterState::children_of(std::string_view ns, std::string_view uid) const {
  std::vector<TypedObject> children;
  const auto add = [&](const auto& places) { children.insert(children.end(), places.begin(), places.end()); };
  add(jobs_of_parent_.shared_at({ns, uid}));
  add(jobsets_of_parent_.shared_at({ns, uid}));
  add(described_jobs_of_parent_.shared_at({ns, uid}));
  return children;
}

std::vector<const Workload*> ClusterState::workloads_of_owner(std::string_view owner_uid) const {
  return workloads_of_owner_.at({"", owner_uid});
}

const Workload* ClusterState::workload_with_uid(std::string_view uid) const {
  const auto found = workloads_by_uid_.at({"", uid});
  return found.empty() ? nullptr : found.front();
}

std::vector<const Workload*> ClusterState::victims_of(std::string_view preemptor_uid) const {
  return victims_of_.at({"", preemptor_uid});
}

std::vector<ObjectKey> ClusterState::jobs_naming_workload(std::string_view ns, std::string_view name) const {
  const auto found = jobs_naming_workload_.find(path_of(ns, name));
  if (found == jobs_naming_workload_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::vector<const DescribedJob*> ClusterState::described_jobs_in(const ResourceType& type, std::string_view ns) const {
  std::vector<const DescribedJob*> jobs = described_jobs_in_.at({ns, type.plural});
  std::erase_if(jobs, [&](const DescribedJob* job) { return job->kind->type() != type; });  // of another group
  return jobs;
}

std::vector<const LimitRange*> ClusterState::limit_ranges_in(std::string_view ns) const {
  return limit_ranges_in_.at({"", ns});
}

std::vector<WorkloadPtr> ClusterState::workloads_in(std::string_view ns) const {
  return workloads_in_queue_.in_namespace(ns);
}

std::vector<const Workload*> ClusterState::workloads_in_queue(std::string_view ns, std::string_view local_queue) const {
  return workloads_in_queue_.at({ns, local_queue});
}

std::vector<const Workload*> ClusterState::workloads_reserving(std::string_view cluster_queue) const {
  return workloads_reserving_.at({"", cluster_queue});
}

std::vector<const LocalQueue*> ClusterState::local_queues_of(std::string_view cluster_queue) const {
  return local_queues_of_.at({"", cluster_queue});
}

std::vector<const ClusterQueue*> ClusterState::cluster_queues_of_flavor(std::string_view flavor) const {
  return queues_at(cluster_queues_of_flavor_, flavor);
}

std::vector<const ClusterQueue*> ClusterState::cluster_queues_of_check(std::string_view check) const {
  return queues_at(cluster_queues_of_check_, check);
}

std::vector<const ClusterQueue*> ClusterState::queues_at(const Queues& queues, std::string_view key) const {
  std::vector<const ClusterQueue*> found;
  if (const auto entry = queues.find(key); entry != queues.end()) {
    for (const std::string& name : entry->second) found.push_back(cluster_queue(name));
  }
  return found;
}

std::vector<const TypedObject*> ClusterState::select(const ResourceType& type,
                                                     const std::function<bool(const TypedObject&)>& wanted) const {
  const auto kind = objects_.find(type.id());
  return kind == objects_.end() ? std::vector<const TypedObject*>() : kind->second.sorted(wanted);
}

void ClusterState::for_each_of(const ResourceType& type, const std::function<void(const TypedObject&)>& visit) const {
  for (const TypedObject* object : select(type, is_any)) visit(*object);
}

const PlainObject* ClusterState::plain(const ResourceType& type, std::string_view ns, std::string_view name) const {
  return pointer_to<PlainObjectPtr>(find(type, ns, name));
}

std::vector<const Job*> ClusterState::jobs_of_jobset(std::string_view ns, std::string_view name) const {
  return jobs_of_jobset_.at({ns, name});
}

std::vector<const JobSet*> ClusterState::jobsets_of_subdomain(std::string_view ns, std::string_view subdomain) const {
  return jobsets_of_subdomain_.at({ns, subdomain});
}

void ClusterState::for_each(const std::function<void(const TypedObject&)>& visit) const {
  for (const auto& [kind, objects] : objects_) {
    for (const TypedObject* object : objects.sorted(is_any)) visit(*object);
  }
}

}  // namespace muster::state
