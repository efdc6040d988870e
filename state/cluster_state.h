// The objects of the cluster that reconcilers act on, with the indexes they need.
// Filled by the engine; read by reconcilers. One thread.
//
// What the scheduler has decided about them, and no Workload shows yet, is not here but beside it: scheduler_driver.h.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/queue_settings.h"
#include "base/clock.h"
#include "base/expiring_set.h"
#include "kinds/typed_object.h"
#include "state/gang_index.h"
#include "state/kept_bytes.h"
#include "state/object_index.h"
#include "state/object_store.h"
#include "state/pod_searches.h"
#include "state/queue_counts.h"
#include "state/template_pool.h"
#include "state/write_pauses.h"

namespace muster::state {

class ClusterState {
 public:
  explicit ClusterState(const QueueSettings& queues = {});
  // Indexes point into it, so it can be moved and not copied.
  ClusterState(ClusterState&&) noexcept = default;
  ClusterState& operator=(ClusterState&&) noexcept = default;

  // Queries. nullptr when there is no such object. Pointers hold until the next change.
  const TypedObject* find(const ResourceType& type, std::string_view ns, std::string_view name) const;
  const JobSet* jobset(std::string_view ns, std::string_view name) const;
  const Job* job(std::string_view ns, std::string_view name) const;
  const ConfigMap* config_map(std::string_view ns, std::string_view name) const;
  const Service* service(std::string_view ns, std::string_view name) const;
  const Workload* workload(std::string_view ns, std::string_view name) const;
  const ClusterQueue* cluster_queue(std::string_view name) const;
  const Cohort* cohort(std::string_view name) const;
  const LocalQueue* local_queue(std::string_view ns, std::string_view name) const;
  const ResourceFlavor* resource_flavor(std::string_view name) const;
  const AdmissionCheck* admission_check(std::string_view name) const;
  const RuntimeClass* runtime_class(std::string_view name) const;
  // `type` is kWorkloadPriorityClasses or kPriorityClasses.
  const PriorityClass* priority_class(const ResourceType& type, std::string_view name) const;
  // The PriorityClass that pods get who name none; of several the lowest. nullptr: none.
  const PriorityClass* default_pod_priority() const;
  const PlainObject* plain(const ResourceType& type, std::string_view ns, std::string_view name) const;
  // The Jobs whose controller is this JobSet, by name. A namesake's with another uid are
  // among them: compare meta.controller->uid.
  std::vector<const Job*> jobs_of_jobset(std::string_view ns, std::string_view name) const;
  // Pods that say that they belong to this JobSet, which restarts in place, by name. Any user can write that: compare
  // their controllers with its Jobs.
  std::vector<const InPlacePod*> in_place_pods(std::string_view ns, std::string_view jobset) const;
  // JobSets of a namespace that use a headless Service of this name.
  std::vector<const JobSet*> jobsets_of_subdomain(std::string_view ns, std::string_view subdomain) const;
  // Jobs, JobSets and objects of described kinds whose controller is the object of a described kind with this uid.
  std::vector<TypedObject> children_of(std::string_view ns, std::string_view uid) const;
  // By name; also those of a deleted owner.
  std::vector<const Workload*> workloads_of_owner(std::string_view owner_uid) const;
  const Workload* workload_with_uid(std::string_view uid) const;
  // Those that were preempted for the Workload of this uid and still hold quota, by name.
  std::vector<const Workload*> victims_of(std::string_view preemptor_uid) const;
  // Jobs of any kind that name this Workload as theirs (kueue.x-k8s.io/prebuilt-workload-name).
  std::vector<ObjectKey> jobs_naming_workload(std::string_view ns, std::string_view name) const;
  // Of one described kind, by name.
  std::vector<const DescribedJob*> described_jobs_in(const ResourceType& type, std::string_view ns) const;
  // By name.
  std::vector<const LimitRange*> limit_ranges_in(std::string_view ns) const;
  // A pod that muster manages by itself; nullptr: there is none.
  QueuedPodPtr queued_pod(std::string_view ns, std::string_view name) const;
  // Those that muster manages, by name.
  std::vector<QueuedPodPtr> pods_of_group(std::string_view ns, std::string_view group) const;
  // Pods of the StatefulSet or LeaderWorkerSet of this name, by name; and Workloads that say in kueue.x-k8s.io/job-uid
  // that they are of one with this uid. Any user can write that: their names are to be compared.
  std::vector<QueuedPodPtr> pods_of_serving_set(const ResourceType& type, std::string_view ns,
                                                std::string_view name) const;
  std::vector<const Workload*> workloads_of_serving_set(std::string_view ns, std::string_view uid) const;
  // By LocalQueue and name.
  std::vector<WorkloadPtr> workloads_in(std::string_view ns) const;
  std::vector<const Workload*> workloads_in_queue(std::string_view ns, std::string_view local_queue) const;
  // Those with an admission by this ClusterQueue.
  std::vector<const Workload*> workloads_reserving(std::string_view cluster_queue) const;
  // What queues show of their Workloads.
  const QueueCountIndex& queue_counts() const { return queue_counts_; }
  std::vector<const LocalQueue*> local_queues_of(std::string_view cluster_queue) const;
  // By name; the flavor or check need not exist.
  std::vector<const ClusterQueue*> cluster_queues_of_flavor(std::string_view flavor) const;
  std::vector<const ClusterQueue*> cluster_queues_of_check(std::string_view check) const;
  // Memory that all objects take.
  const KeptBytes& kept_bytes() const { return kept_bytes_; }
  // By kind, namespace and name.
  void for_each(const std::function<void(const TypedObject&)>& visit) const;
  // Of one kind, by namespace and name.
  void for_each_of(const ResourceType& type, const std::function<void(const TypedObject&)>& visit) const;
  // Those of one kind that are wanted, by namespace and name: the rest is not sorted.
  std::vector<const TypedObject*> select(const ResourceType& type,
                                         const std::function<bool(const TypedObject&)>& wanted) const;
  // The Jobs and pods of gangs, counted.
  const GangIndex& gangs() const { return gangs_; }
  // The last create for this object's sake that the API server refused and that had no success since; nullptr: none.
  // Known to the leader, from its own writes.
  struct Rejection {
    ObjectKey target;
    std::string why;  // the API server's sentence
  };
  const Rejection* rejection(const ObjectKey& owner) const;
  // The last of an object of this kind.
  const Rejection* rejection(const ObjectKey& owner, const ResourceType& type) const;
  // Who pauses because its writes came to nothing. Known to the leader, from its own writes.
  const WritePauses& pauses() const { return pauses_; }
  // What searches for pods have found. Known to the leader, from its own.
  const PodSearches& pod_searches() const { return pod_searches_; }
  // Whether a create was answered with AlreadyExists, lately, by an object that muster does not watch: another
  // owner's.
  bool taken(const ObjectKey& key, MonotonicTime now) const;

  // Changes.

  // What an object replaced: nullopt when it is new. `after` is what is kept of it.
  struct Change {
    std::optional<TypedObject> before;
    const TypedObject* after;
  };
  // From the answer to a write. nullopt, and nothing changes, when a newer version is
  // here, or when the watch of its kind has gone past this version and has seen it go.
  std::optional<Change> put(const TypedObject& object);
  // From a watch, which tells each kind's history in order. nullopt: as known.
  std::optional<Change> put_watched(const TypedObject& object);
  // A watch saw an object go. Returns what was known of it.
  std::optional<TypedObject> remove_watched(const TypedObject& object);
  // An answer said that there is no such object (any more).
  std::optional<TypedObject> remove(const ObjectKey& key);
  // A complete list of a kind as it was at `version`, whose objects have been put: the
  // others are gone, but for those that are younger than the list. Returns them.
  std::vector<TypedObject> drop_missing(const ResourceType& type, const std::vector<ObjectKey>& listed,
                                        uint64_t version);
  void note_taken(const ObjectKey& key, MonotonicTime until);
  void note_rejection(const ObjectKey& owner, const ObjectKey& target, std::string why);
  WritePauses& pauses() { return pauses_; }
  PodSearches& pod_searches() { return pod_searches_; }
  // `target` was made, or is not needed any more.
  void forget_rejection(const ObjectKey& owner, const ObjectKey& target);

  // After an exception in the middle of a change it is unknown which index has it: the same
  // objects, put one after the other into a fresh state, which takes over how far the watches
  // are. `takes` says which; what was not taken is as if it were not there. Throws what putting
  // throws, with this state as it was; `putting` is the object of that.
  void rebuild(const std::function<bool(const TypedObject&)>& takes, ObjectKey& putting);

 private:
  std::optional<Change> set(const TypedObject& object);
  template <class Visit>
  void for_each_index(const TypedObject& object, Visit visit);
  TypedObject replace(TypedObject& place, const TypedObject& object);
  void count_in(const TypedObject& object);
  void count_out(const TypedObject& object);
  void note_names(const ClusterQueue& queue, bool present);
  void note_prebuilt(const TypedObject& job, bool present);

  static std::optional<NamespacedName> jobset_of(const Job& job);
  static std::optional<NamespacedName> subdomain_of(const JobSet& jobset);
  static std::optional<NamespacedName> parent_of(const Job& job);
  static std::optional<NamespacedName> parent_of(const JobSet& jobset);
  static std::optional<NamespacedName> parent_of(const DescribedJob& job);
  static std::optional<NamespacedName> kind_of(const DescribedJob& job);
  static std::optional<NamespacedName> owner_of(const Workload& workload);
  static std::optional<NamespacedName> uid_of(const Workload& workload);
  static std::optional<NamespacedName> preemptor_of(const Workload& workload);
  static std::optional<NamespacedName> local_queue_of(const Workload& workload);
  static std::optional<NamespacedName> cluster_queue_of(const Workload& workload);
  static std::optional<NamespacedName> cluster_queue_of(const LocalQueue& queue);
  static std::optional<NamespacedName> namespace_of(const LimitRange& limit_range);
  static std::optional<NamespacedName> jobset_of(const InPlacePod& pod);
  static std::optional<NamespacedName> group_of(const QueuedPod& pod);
  static std::optional<NamespacedName> stateful_set_of(const QueuedPod& pod);
  static std::optional<NamespacedName> leader_worker_set_of(const QueuedPod& pod);
  static std::optional<NamespacedName> serving_set_of(const Workload& workload);

  QueueSettings queues_;
  std::map<KindId, ObjectStore> objects_;
  std::map<KindId, uint64_t> seen_;
  ObjectIndex<Job, jobset_of> jobs_of_jobset_;
  ObjectIndex<JobSet, subdomain_of> jobsets_of_subdomain_;
  ObjectIndex<DescribedJob, kind_of> described_jobs_in_;
  ObjectIndex<Job, parent_of> jobs_of_parent_;
  ObjectIndex<JobSet, parent_of> jobsets_of_parent_;
  ObjectIndex<DescribedJob, parent_of> described_jobs_of_parent_;
  ObjectIndex<Workload, owner_of> workloads_of_owner_;
  ObjectIndex<Workload, uid_of> workloads_by_uid_;
  ObjectIndex<Workload, preemptor_of> victims_of_;
  ObjectIndex<Workload, local_queue_of> workloads_in_queue_;
  ObjectIndex<Workload, cluster_queue_of> workloads_reserving_;
  ObjectIndex<LocalQueue, cluster_queue_of> local_queues_of_;
  ObjectIndex<LimitRange, namespace_of> limit_ranges_in_;
  ObjectIndex<InPlacePod, jobset_of> in_place_pods_;
  ObjectIndex<QueuedPod, group_of> pods_of_group_;
  ObjectIndex<QueuedPod, stateful_set_of> pods_of_stateful_set_;
  ObjectIndex<QueuedPod, leader_worker_set_of> pods_of_leader_worker_set_;
  ObjectIndex<Workload, serving_set_of> workloads_of_serving_set_;
  // By what they name, which is several; names.
  using Queues = std::map<std::string, std::set<std::string>, std::less<>>;
  std::vector<const ClusterQueue*> queues_at(const Queues& queues, std::string_view key) const;
  Queues cluster_queues_of_flavor_;
  Queues cluster_queues_of_check_;
  std::map<std::string, std::set<ObjectKey>, std::less<>> jobs_naming_workload_;  // by "ns/name" of the Workload
  QueueCountIndex queue_counts_;
  ExpiringSet<ObjectKey> taken_{std::chrono::minutes(1)};   // names that objects of other owners have
  std::map<ObjectKey, std::vector<Rejection>> rejections_;  // by owner; one of each kind, the last one at the end
  WritePauses pauses_;
  PodSearches pod_searches_;
  GangIndex gangs_;
  KeptBytes kept_bytes_;
  TemplatePool templates_;
};

}  // namespace muster::state
