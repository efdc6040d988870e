#include "reconcilers/cluster_state.h"

#include <algorithm>
#include <set>

#include "base/overloaded.h"
#include "jobs/job_kind.h"
#include "reconcilers/admissions.h"

namespace muster {
namespace {

// "ns/name" of the JobSet that controls a Job; empty when none does.
std::string controlling_jobset(const Job& job) {
  const auto& controller = job.meta.controller;
  if (!controller || job_type_of(*controller) != &kJobSets) return "";
  return path_of(job.meta.ns, controller->name);
}

template <class Pointer>
auto pointer_to(const TypedObject* object) -> decltype(std::get_if<Pointer>(object)->get()) {
  if (object == nullptr) return nullptr;
  const Pointer* typed = std::get_if<Pointer>(object);
  return typed == nullptr ? nullptr : typed->get();
}

template <class Index>
auto values_at(const Index& index, const std::string& key) {
  std::vector<typename Index::mapped_type::key_type> found;
  if (const auto entry = index.find(key); entry != index.end())
    found.assign(entry->second.begin(), entry->second.end());
  return found;
}

template <class Index, class Value>
void erase_at(Index& index, const std::string& key, const Value& value) {
  const auto entry = index.find(key);
  if (entry == index.end()) return;
  entry->second.erase(&value);
  if (entry->second.empty()) index.erase(entry);
}

}  // namespace

ClusterState::ClusterState(const QueueSettings& queues) : admissions_(std::make_unique<Admissions>(queues)) {}
ClusterState::~ClusterState() = default;
ClusterState::ClusterState(ClusterState&&) noexcept = default;
ClusterState& ClusterState::operator=(ClusterState&&) noexcept = default;

const TypedObject* ClusterState::find(const ResourceType& type, std::string_view ns, std::string_view name) const {
  const auto kind = objects_.find(type.plural);
  if (kind == objects_.end()) return nullptr;
  const auto found = kind->second.find(path_of(ns, name));
  return found == kind->second.end() ? nullptr : &found->second;
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

const LocalQueue* ClusterState::local_queue(std::string_view ns, std::string_view name) const {
  return pointer_to<LocalQueuePtr>(find(kLocalQueues, ns, name));
}

const ResourceFlavor* ClusterState::resource_flavor(std::string_view name) const {
  return pointer_to<ResourceFlavorPtr>(find(kResourceFlavors, "", name));
}

const AdmissionCheck* ClusterState::admission_check(std::string_view name) const {
  return pointer_to<AdmissionCheckPtr>(find(kAdmissionChecks, "", name));
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

std::vector<const Workload*> ClusterState::workloads_of_owner(std::string_view owner_uid) const {
  return values_at(workloads_of_owner_, std::string(owner_uid));
}

std::vector<const Workload*> ClusterState::workloads_in_queue(std::string_view ns, std::string_view local_queue) const {
  return values_at(workloads_in_queue_, path_of(ns, local_queue));
}

std::vector<const Workload*> ClusterState::workloads_reserving(std::string_view cluster_queue) const {
  return values_at(workloads_reserving_, std::string(cluster_queue));
}

std::vector<const LocalQueue*> ClusterState::local_queues_of(std::string_view cluster_queue) const {
  return values_at(local_queues_of_, std::string(cluster_queue));
}

std::vector<const ClusterQueue*> ClusterState::cluster_queues_of_flavor(std::string_view flavor) const {
  return values_at(cluster_queues_of_flavor_, std::string(flavor));
}

std::vector<const ClusterQueue*> ClusterState::cluster_queues_of_check(std::string_view check) const {
  return values_at(cluster_queues_of_check_, std::string(check));
}

void ClusterState::for_each_of(const ResourceType& type, const std::function<void(const TypedObject&)>& visit) const {
  const auto kind = objects_.find(type.plural);
  if (kind == objects_.end()) return;
  for (const auto& [path, object] : kind->second) visit(object);
}

void ClusterState::for_each_in(const ResourceType& type, std::string_view ns,
                               const std::function<void(const TypedObject&)>& visit) const {
  const auto kind = objects_.find(type.plural);
  if (kind == objects_.end()) return;
  const std::string prefix = path_of(ns, "");
  for (auto entry = kind->second.lower_bound(prefix); entry != kind->second.end(); ++entry) {
    if (!entry->first.starts_with(prefix)) return;
    visit(entry->second);
  }
}

const PlainObject* ClusterState::plain(const ResourceType& type, std::string_view ns, std::string_view name) const {
  const TypedObject* object = find(type, ns, name);
  const auto* plain = object == nullptr ? nullptr : std::get_if<PlainObjectPtr>(object);
  return plain == nullptr ? nullptr : plain->get();
}

std::vector<const Job*> ClusterState::jobs_of_jobset(std::string_view ns, std::string_view name) const {
  return values_at(jobs_of_jobset_, path_of(ns, name));
}

std::vector<const JobSet*> ClusterState::jobsets_of_subdomain(std::string_view ns, std::string_view subdomain) const {
  return values_at(jobsets_of_subdomain_, path_of(ns, subdomain));
}

void ClusterState::for_each(const std::function<void(const TypedObject&)>& visit) const {
  for (const auto& [plural, objects] : objects_) {
    for (const auto& [path, object] : objects) visit(object);
  }
}

bool ClusterState::taken(const ObjectKey& key, MonotonicTime now) const {
  const auto found = taken_.find(key);
  return found != taken_.end() && now < found->second;
}

void ClusterState::note_taken(const ObjectKey& key, MonotonicTime until) {
  taken_[key] = until;
}

std::optional<ClusterState::Change> ClusterState::put(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  const TypedObject* known = find(type_of(object), meta.ns, meta.name);
  if (known != nullptr && meta_of(*known).resource_version >= meta.resource_version) return std::nullopt;
  const auto seen = seen_.find(type_of(object).plural);
  if (known == nullptr && seen != seen_.end() && meta.resource_version <= seen->second) return std::nullopt;
  return set(object);
}

std::optional<ClusterState::Change> ClusterState::put_watched(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  uint64_t& seen = seen_[type_of(object).plural];
  seen = std::max(seen, meta.resource_version);
  const TypedObject* known = find(type_of(object), meta.ns, meta.name);
  if (known != nullptr && meta.resource_version != 0 && meta_of(*known).resource_version >= meta.resource_version) {
    return std::nullopt;
  }
  return set(object);
}

std::optional<ClusterState::Change> ClusterState::set(const TypedObject& given) {
  const TypedObject object =
      std::visit(Overloaded{
                     [&](const JobPtr& job) -> TypedObject { return templates_.intern(job); },
                     [&](const JobSetPtr& jobset) -> TypedObject { return templates_.intern(jobset); },
                     [&](const WorkloadPtr& workload) -> TypedObject { return templates_.intern(workload); },
                     [](const auto& other) -> TypedObject { return other; },
                 },
                 given);
  Objects& objects = objects_[type_of(object).plural];
  auto [entry, is_new] = objects.try_emplace(path_of(meta_of(object)), object);
  Change change{.before = std::nullopt, .after = &entry->second};
  if (!is_new) {
    unindex(entry->second);
    change.before = std::exchange(entry->second, object);
  }
  index(object);
  taken_.erase(key_of(object));
  return change;
}

std::optional<TypedObject> ClusterState::remove_watched(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  uint64_t& seen = seen_[type_of(object).plural];
  seen = std::max(seen, meta.resource_version);
  // The answer to a create may have overtaken the news of the namesake's end.
  const TypedObject* known = find(type_of(object), meta.ns, meta.name);
  if (known == nullptr || meta_of(*known).resource_version > meta.resource_version) return std::nullopt;
  return remove(key_of(object));
}

std::optional<TypedObject> ClusterState::remove(const ObjectKey& key) {
  const auto kind = objects_.find(key.type->plural);
  if (kind == objects_.end()) return std::nullopt;
  const auto found = kind->second.find(path_of(key.ns, key.name));
  if (found == kind->second.end()) return std::nullopt;
  unindex(found->second);
  TypedObject removed = std::move(found->second);
  kind->second.erase(found);
  return removed;
}

std::vector<TypedObject> ClusterState::drop_missing(const ResourceType& type, const std::vector<ObjectKey>& listed,
                                                    uint64_t version) {
  uint64_t& seen = seen_[type.plural];
  seen = std::max(seen, version);
  std::set<std::string> present;
  for (const ObjectKey& key : listed) present.insert(path_of(key.ns, key.name));
  std::vector<ObjectKey> gone;
  for (const auto& [path, object] : objects_[type.plural]) {
    const bool younger = version != 0 && meta_of(object).resource_version > version;
    if (!present.contains(path) && !younger) gone.push_back(key_of(object));
  }
  std::vector<TypedObject> dropped;
  for (const ObjectKey& key : gone) dropped.push_back(*remove(key));
  return dropped;
}

void ClusterState::index(const TypedObject& object) {
  if (const auto* job = std::get_if<JobPtr>(&object)) {
    if (std::string owner = controlling_jobset(**job); !owner.empty()) {
      jobs_of_jobset_[owner].insert(job->get());
    }
    gangs_.put(*job);
  } else if (const auto* jobset = std::get_if<JobSetPtr>(&object)) {
    jobsets_of_subdomain_[path_of((*jobset)->meta.ns, (*jobset)->subdomain)].insert(jobset->get());
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    index_workload(**workload);
  } else if (const auto* cluster_queue = std::get_if<ClusterQueuePtr>(&object)) {
    index_queue(**cluster_queue, true);
  } else if (const auto* local_queue = std::get_if<LocalQueuePtr>(&object)) {
    index_queue(**local_queue, true);
  } else if (const auto* pod = std::get_if<PodPtr>(&object)) {
    gangs_.put(*pod);
  }
}

void ClusterState::unindex(const TypedObject& object) {
  if (const auto* job = std::get_if<JobPtr>(&object)) {
    if (std::string owner = controlling_jobset(**job); !owner.empty()) erase_at(jobs_of_jobset_, owner, **job);
    gangs_.remove(**job);
  } else if (const auto* jobset = std::get_if<JobSetPtr>(&object)) {
    erase_at(jobsets_of_subdomain_, path_of((*jobset)->meta.ns, (*jobset)->subdomain), **jobset);
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    unindex_workload(**workload);
  } else if (const auto* cluster_queue = std::get_if<ClusterQueuePtr>(&object)) {
    index_queue(**cluster_queue, false);
  } else if (const auto* local_queue = std::get_if<LocalQueuePtr>(&object)) {
    index_queue(**local_queue, false);
  } else if (const auto* pod = std::get_if<PodPtr>(&object)) {
    gangs_.remove(**pod);
  }
}

void ClusterState::index_workload(const Workload& workload) {
  const ObjectMeta& meta = workload.meta;
  if (meta.controller) workloads_of_owner_[meta.controller->uid].insert(&workload);
  workloads_in_queue_[path_of(meta.ns, workload.queue_name)].insert(&workload);
  const auto& admission = workload.status.admission;
  if (admission) workloads_reserving_[admission->cluster_queue].insert(&workload);
  queue_counts_.add(workload);
}

void ClusterState::unindex_workload(const Workload& workload) {
  const ObjectMeta& meta = workload.meta;
  if (meta.controller) erase_at(workloads_of_owner_, meta.controller->uid, workload);
  erase_at(workloads_in_queue_, path_of(meta.ns, workload.queue_name), workload);
  const auto& admission = workload.status.admission;
  if (admission) erase_at(workloads_reserving_, admission->cluster_queue, workload);
  queue_counts_.remove(workload);
}

void ClusterState::index_queue(const ClusterQueue& queue, bool present) {
  const auto put = [&](Index<ClusterQueue>& index, const std::string& key) {
    if (present)
      index[key].insert(&queue);
    else
      erase_at(index, key, queue);
  };
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) put(cluster_queues_of_flavor_, flavor.name);
  }
  for (const AdmissionCheckRule& check : queue.admission_checks) put(cluster_queues_of_check_, check.name);
}

void ClusterState::index_queue(const LocalQueue& queue, bool present) {
  if (present)
    local_queues_of_[queue.cluster_queue].insert(&queue);
  else
    erase_at(local_queues_of_, queue.cluster_queue, queue);
}

}  // namespace muster
