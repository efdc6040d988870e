#include "state/cluster_state.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "api/cluster_queue.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/limit_range.h"
#include "api/meta/constants.h"
#include "api/pod.h"
#include "api/pods/in_place_pod.h"
#include "api/pods/queued_pod.h"
#include "api/texts/workload_texts.h"
#include "api/workload.h"
#include "base/overloaded.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"

namespace muster::state {
namespace {

// The job of a described kind that controls an object. A JobSet's Jobs are many, and have a separate index.
std::optional<NamespacedName> described_parent(const ObjectMeta& meta) {
  const auto& controller = meta.controller;
  if (!controller || find_described_kind(group_of(controller->api_version), controller->kind) == nullptr)
    return std::nullopt;
  return NamespacedName{meta.ns, controller->uid};
}

}  // namespace

ClusterState::ClusterState(const QueueSettings& queues)
    : queues_(queues), queue_counts_(queues.rules.enabled(Gate::kReclaimablePods)) {}

bool ClusterState::taken(const ObjectKey& key, MonotonicTime now) const {
  return taken_.holds(key, now);
}

void ClusterState::note_taken(const ObjectKey& key, MonotonicTime until) {
  taken_.put(key, until);
}

const ClusterState::Rejection* ClusterState::rejection(const ObjectKey& owner) const {
  const auto found = rejections_.find(owner);
  return found == rejections_.end() ? nullptr : &found->second.back();
}

const ClusterState::Rejection* ClusterState::rejection(const ObjectKey& owner, const ResourceType& type) const {
  const auto found = rejections_.find(owner);
  if (found == rejections_.end()) return nullptr;
  const auto of_type = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const Rejection& rejection) { return rejection.target.type == &type; });
  return of_type == found->second.end() ? nullptr : &*of_type;
}

void ClusterState::note_rejection(const ObjectKey& owner, const ObjectKey& target, std::string why) {
  // If the owner was deleted, its rejection would never be read.
  if (find(*owner.type, owner.ns, owner.name) == nullptr) return;
  std::vector<Rejection>& of_owner = rejections_[owner];
  std::erase_if(of_owner, [&](const Rejection& rejection) { return rejection.target.type == target.type; });
  of_owner.push_back({target, std::move(why)});
}

void ClusterState::forget_rejection(const ObjectKey& owner, const ObjectKey& target) {
  const auto found = rejections_.find(owner);
  if (found == rejections_.end()) return;
  std::erase_if(found->second, [&](const Rejection& rejection) { return rejection.target == target; });
  if (found->second.empty()) rejections_.erase(found);
}

void ClusterState::rebuild(const std::function<bool(const TypedObject&)>& takes, ObjectKey& putting) {
  ClusterState fresh(queues_);
  for_each([&](const TypedObject& object) {
    if (!takes(object)) return;
    putting = key_of(object);
    fresh.set(object);
  });
  fresh.seen_ = seen_;
  fresh.taken_ = taken_;
  fresh.rejections_ = rejections_;
  fresh.pauses_ = pauses_;
  fresh.pod_searches_ = pod_searches_;
  *this = std::move(fresh);
}

std::optional<ClusterState::Change> ClusterState::put(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  const TypedObject* known = find(type_of(object), meta.ns, meta.name);
  if (known != nullptr && meta_of(*known).resource_version >= meta.resource_version) return std::nullopt;
  const auto seen = seen_.find(type_of(object).id());
  if (known == nullptr && seen != seen_.end() && meta.resource_version <= seen->second) return std::nullopt;
  return set(object);
}

std::optional<ClusterState::Change> ClusterState::put_watched(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  uint64_t& seen = seen_[type_of(object).id()];
  seen = std::max(seen, meta.resource_version);
  const TypedObject* known = find(type_of(object), meta.ns, meta.name);
  if (known != nullptr && meta.resource_version != 0 && meta_of(*known).resource_version >= meta.resource_version) {
    return std::nullopt;
  }
  return set(object);
}

std::optional<ClusterState::Change> ClusterState::set(const TypedObject& object) {
  std::visit(Overloaded{
                 [&](const JobPtr& job) { templates_.intern(*job); },
                 [&](const JobSetPtr& jobset) { templates_.intern(*jobset); },
                 [&](const DescribedJobPtr& job) { templates_.intern(*job); },
                 [&](const WorkloadPtr& workload) { templates_.intern(*workload); },
                 [&](const QueuedPodPtr& pod) { templates_.intern(*pod); },
                 [](const auto&) {},
             },
             object);
  ObjectStore& objects = objects_[type_of(object).id()];
  const ObjectMeta& meta = meta_of(object);
  Change change{};
  if (TypedObject* place = objects.find({meta.ns, meta.name})) {
    count_out(*place);
    change.before = replace(*place, object);
    change.after = place;
  } else {
    change.after = &objects.add(object);
    for_each_index(*change.after, [](auto& index, const auto& indexed) { index.insert(indexed); });
  }
  count_in(object);
  if (!taken_.empty()) taken_.erase(key_of(object));
  return change;
}

std::optional<TypedObject> ClusterState::remove_watched(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  uint64_t& seen = seen_[type_of(object).id()];
  seen = std::max(seen, meta.resource_version);
  // The answer to a create can overtake the news of the namesake's end.
  const TypedObject* known = find(type_of(object), meta.ns, meta.name);
  if (known == nullptr || meta_of(*known).resource_version > meta.resource_version) return std::nullopt;
  return remove(key_of(object));
}

std::optional<TypedObject> ClusterState::remove(const ObjectKey& key) {
  const auto kind = objects_.find(key.type->id());
  if (kind == objects_.end()) return std::nullopt;
  const TypedObject* place = kind->second.find({key.ns, key.name});
  if (place == nullptr) return std::nullopt;
  count_out(*place);
  for_each_index(*place, [](auto& index, const auto& indexed) { index.erase(indexed); });
  TypedObject removed = *place;
  if (!rejections_.empty()) rejections_.erase(key);
  kind->second.remove({key.ns, key.name});
  return removed;
}

std::vector<TypedObject> ClusterState::drop_missing(const ResourceType& type, const std::vector<ObjectKey>& listed,
                                                    uint64_t version) {
  uint64_t& seen = seen_[type.id()];
  seen = std::max(seen, version);
  std::set<std::string> present;
  for (const ObjectKey& key : listed) present.insert(path_of(key.ns, key.name));
  const auto is_gone = [&](const TypedObject& object) {
    const bool younger = version != 0 && meta_of(object).resource_version > version;
    return !younger && !present.contains(path_of(meta_of(object)));
  };
  std::vector<ObjectKey> gone;
  for (const TypedObject* object : select(type, is_gone)) gone.push_back(key_of(*object));
  std::vector<TypedObject> dropped;
  for (const ObjectKey& key : gone) dropped.push_back(*remove(key));
  return dropped;
}

// The JobSet that controls it.
std::optional<NamespacedName> ClusterState::jobset_of(const Job& job) {
  const auto& controller = job.meta.controller;
  if (!controller || jobs::job_type_of(*controller) != &kJobSets) return std::nullopt;
  return NamespacedName{job.meta.ns, controller->name};
}

std::optional<NamespacedName> ClusterState::subdomain_of(const JobSet& set) {
  return NamespacedName{set.meta.ns, set.subdomain};
}

std::optional<NamespacedName> ClusterState::parent_of(const Job& job) {
  return described_parent(job.meta);
}

std::optional<NamespacedName> ClusterState::parent_of(const JobSet& jobset) {
  return described_parent(jobset.meta);
}

std::optional<NamespacedName> ClusterState::parent_of(const DescribedJob& job) {
  return described_parent(job.meta);
}

std::optional<NamespacedName> ClusterState::kind_of(const DescribedJob& job) {
  return NamespacedName{job.meta.ns, job.kind->type().plural};
}

std::optional<NamespacedName> ClusterState::owner_of(const Workload& workload) {
  if (!workload.meta.controller) return std::nullopt;
  return NamespacedName{"", workload.meta.controller->uid};
}

std::optional<NamespacedName> ClusterState::uid_of(const Workload& workload) {
  return NamespacedName{"", workload.meta.uid};
}

std::optional<NamespacedName> ClusterState::preemptor_of(const Workload& workload) {
  if (!workload.evicted() || !workload.has_quota_reserved()) return std::nullopt;
  const Condition* preempted = find_condition(workload.status.conditions, kPreemptedCondition);
  if (preempted == nullptr || !preempted->is_true()) return std::nullopt;
  return NamespacedName{"", preemptor_uid_of(preempted->message)};
}

std::optional<NamespacedName> ClusterState::local_queue_of(const Workload& workload) {
  return NamespacedName{workload.meta.ns, workload.queue_name};
}

std::optional<NamespacedName> ClusterState::cluster_queue_of(const Workload& workload) {
  if (!workload.status.admission) return std::nullopt;
  return NamespacedName{"", workload.status.admission->cluster_queue};
}

std::optional<NamespacedName> ClusterState::cluster_queue_of(const LocalQueue& queue) {
  return NamespacedName{"", queue.cluster_queue};
}

std::optional<NamespacedName> ClusterState::namespace_of(const LimitRange& limit_range) {
  return NamespacedName{"", limit_range.meta.ns};
}

std::optional<NamespacedName> ClusterState::jobset_of(const InPlacePod& pod) {
  const std::string_view name = pod.meta.label(kJobSetNameKey);
  if (name.empty()) return std::nullopt;
  return NamespacedName{pod.meta.ns, name};
}

std::optional<NamespacedName> ClusterState::group_of(const QueuedPod& pod) {
  if (pod.group().empty() || pod.meta.label(kManagedLabel) != kManagedLabelValue) return std::nullopt;
  return NamespacedName{pod.meta.ns, pod.group()};
}

std::optional<NamespacedName> ClusterState::stateful_set_of(const QueuedPod& pod) {
  const auto& owner = pod.meta.controller;
  if (!owner || owner->kind != kStatefulSets.kind || owner->api_version != kStatefulSets.api_version ||
      pod.meta.annotation(kSuspendingParent) != kStatefulSetFramework)
    return std::nullopt;
  return NamespacedName{pod.meta.ns, owner->name};
}

std::optional<NamespacedName> ClusterState::leader_worker_set_of(const QueuedPod& pod) {
  const std::string_view name = pod.meta.label(kLeaderWorkerSetName);
  if (name.empty() || pod.meta.annotation(kSuspendingParent) != kLeaderWorkerSetFramework) return std::nullopt;
  return NamespacedName{pod.meta.ns, name};
}

std::optional<NamespacedName> ClusterState::serving_set_of(const Workload& workload) {
  const std::string_view uid = workload.meta.label(kJobUidLabel);
  if (uid.empty() || !workload.of_pod_group()) return std::nullopt;
  return NamespacedName{workload.meta.ns, uid};
}

// Calls visit(index, place) for every index that a kind has; `place` as the index wants it.
template <class Visit>
void ClusterState::for_each_index(const TypedObject& object, Visit visit) {
  std::visit(Overloaded{
                 [&](const JobPtr& indexed) {
                   visit(jobs_of_jobset_, indexed);
                   visit(jobs_of_parent_, indexed);
                 },
                 [&](const JobSetPtr& indexed) {
                   visit(jobsets_of_subdomain_, indexed);
                   visit(jobsets_of_parent_, indexed);
                 },
                 [&](const DescribedJobPtr& indexed) {
                   visit(described_jobs_in_, indexed);
                   visit(described_jobs_of_parent_, indexed);
                 },
                 [&](const WorkloadPtr& indexed) {
                   visit(workloads_of_owner_, indexed);
                   visit(workloads_by_uid_, indexed);
                   visit(victims_of_, indexed);
                   visit(workloads_of_serving_set_, indexed);
                   visit(workloads_in_queue_, indexed);
                   visit(workloads_reserving_, indexed);
                 },
                 [&](const LocalQueuePtr& indexed) { visit(local_queues_of_, indexed); },
                 [&](const LimitRangePtr& indexed) { visit(limit_ranges_in_, indexed); },
                 [&](const InPlacePodPtr& indexed) { visit(in_place_pods_, indexed); },
                 [&](const QueuedPodPtr& indexed) {
                   visit(pods_of_group_, indexed);
                   visit(pods_of_stateful_set_, indexed);
                   visit(pods_of_leader_worker_set_, indexed);
                 },
                 [](const auto&) {},
             },
             object);
}

// The newer version takes the place of the older one. Only the indexes in which they differ change.
TypedObject ClusterState::replace(TypedObject& place, const TypedObject& object) {
  const auto differs = [&](const auto& index, const auto& before, const TypedObject& other) {
    return !index.same(*before, *std::get<std::remove_cvref_t<decltype(before)>>(other));
  };
  for_each_index(place, [&](auto& index, const auto& indexed) {
    if (differs(index, indexed, object)) index.erase(indexed);
  });
  TypedObject before = std::exchange(place, object);
  for_each_index(place, [&](auto& index, const auto& indexed) {
    if (differs(index, indexed, before)) index.insert(indexed);
  });
  return before;
}

// Sums over all objects, with or without this object.
void ClusterState::count_in(const TypedObject& object) {
  note_prebuilt(object, true);
  kept_bytes_.add(object);
  std::visit(Overloaded{
                 [&](const JobPtr& job) { gangs_.put(job); },
                 [&](const PodPtr& pod) { gangs_.put(pod); },
                 [&](const WorkloadPtr& workload) { queue_counts_.add(*workload); },
                 [&](const ClusterQueuePtr& queue) { note_names(*queue, true); },
                 [](const auto&) {},
             },
             object);
}

void ClusterState::count_out(const TypedObject& object) {
  note_prebuilt(object, false);
  kept_bytes_.remove(object);
  std::visit(Overloaded{
                 [&](const JobPtr& job) { gangs_.remove(*job); },
                 [&](const PodPtr& pod) { gangs_.remove(*pod); },
                 [&](const WorkloadPtr& workload) { queue_counts_.remove(*workload); },
                 [&](const ClusterQueuePtr& queue) { note_names(*queue, false); },
                 [](const auto&) {},
             },
             object);
}

// The Workloads that a job names: which of the two counts is a matter of settings (jobs/prebuilt_workload.h).
void ClusterState::note_prebuilt(const TypedObject& object, bool present) {
  const ObjectMeta& meta = meta_of(object);
  for (const std::string_view name : {meta.annotation(kPrebuiltWorkload), meta.label(kPrebuiltWorkload)}) {
    if (name.empty() || jobs::find_job_kind(type_of(object)) == nullptr) continue;
    std::set<ObjectKey>& jobs = jobs_naming_workload_[path_of(meta.ns, name)];
    if (present)
      jobs.insert(key_of(object));
    else
      jobs.erase(key_of(object));
    if (jobs.empty()) jobs_naming_workload_.erase(path_of(meta.ns, name));
  }
}

// The flavors and checks that a queue names.
void ClusterState::note_names(const ClusterQueue& queue, bool present) {
  const auto note = [&](Queues& queues, const std::string& key) {
    std::set<std::string>& names = queues[key];
    if (present)
      names.insert(queue.meta.name);
    else
      names.erase(queue.meta.name);
    if (names.empty()) queues.erase(key);
  };
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) note(cluster_queues_of_flavor_, flavor.name);
  }
  for (const AdmissionCheckRule& check : queue.admission_checks) note(cluster_queues_of_check_, check.name);
}

}  // namespace muster::state
