#include "state/cluster_state.h"

#include <algorithm>
#include <set>

#include "api/job.h"
#include "api/jobset.h"
#include "api/pod.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "base/overloaded.h"
#include "kinds/described_job.h"

namespace muster::state {
namespace {

bool is_any(const TypedObject&) {
  return true;
}

}  // namespace

ClusterState::ClusterState(const QueueSettings& queues)
    : queues_(queues), queue_counts_(queues.rules.enabled(Gate::kReclaimablePods)) {}

const TypedObject* ClusterState::find(const ResourceType& type, std::string_view ns, std::string_view name) const {
  const auto kind = objects_.find(type.id());
  return kind == objects_.end() ? nullptr : kind->second.find({ns, name});
}

std::vector<const TypedObject*> ClusterState::select(const ResourceType& type,
                                                     const std::function<bool(const TypedObject&)>& wanted) const {
  const auto kind = objects_.find(type.id());
  return kind == objects_.end() ? std::vector<const TypedObject*>() : kind->second.sorted(wanted);
}

void ClusterState::for_each_of(const ResourceType& type, const std::function<void(const TypedObject&)>& visit) const {
  for (const TypedObject* object : select(type, is_any)) visit(*object);
}

void ClusterState::for_each(const std::function<void(const TypedObject&)>& visit) const {
  for (const auto& [kind, objects] : objects_) {
    for (const TypedObject* object : objects.sorted(is_any)) visit(*object);
  }
}

void ClusterState::for_each_place(const std::function<void(const TypedObject&)>& visit) const {
  for (const auto& [kind, objects] : objects_) objects.for_each(visit);
}

void ClusterState::rebuild(const std::function<bool(const TypedObject&)>& takes, ObjectKey& putting) {
  ClusterState fresh(queues_);
  for_each([&](const TypedObject& object) {
    if (!takes(object)) return;
    putting = key_of(object);
    fresh.set(object);
  });
  fresh.seen_ = seen_;
  fresh.writes_ = writes_;
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
    change.before = indexes_.replace(*place, object);
    change.after = place;
  } else {
    change.after = &objects.add(object);
    indexes_.insert(*change.after);
  }
  count_in(object);
  writes_.object_put(object);
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
  indexes_.erase(*place);
  TypedObject removed = *place;
  writes_.object_removed(key);
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

// Sums over all objects, with or without this object.
void ClusterState::count_in(const TypedObject& object) {
  kept_bytes_.add(object);
  std::visit(Overloaded{
                 [&](const JobPtr& job) { gangs_.put(job); },
                 [&](const PodPtr& pod) { gangs_.put(pod); },
                 [&](const WorkloadPtr& workload) { queue_counts_.add(*workload); },
                 [](const auto&) {},
             },
             object);
}

void ClusterState::count_out(const TypedObject& object) {
  kept_bytes_.remove(object);
  std::visit(Overloaded{
                 [&](const JobPtr& job) { gangs_.remove(*job); },
                 [&](const PodPtr& pod) { gangs_.remove(*pod); },
                 [&](const WorkloadPtr& workload) { queue_counts_.remove(*workload); },
                 [](const auto&) {},
             },
             object);
}

}  // namespace muster::state
