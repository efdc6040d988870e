#include "reconcilers/cluster_state.h"

#include <algorithm>
#include <set>

namespace muster {
namespace {

std::string path_of(std::string_view ns, std::string_view name) {
  std::string path(ns);
  path.append("/").append(name);
  return path;
}

std::string path_of(const ObjectMeta& meta) {
  return path_of(meta.ns, meta.name);
}

// "ns/name" of the JobSet that controls a Job; empty when none does.
std::string controlling_jobset(const Job& job) {
  const auto& controller = job.meta.controller;
  if (!controller || controller->kind != kJobSets.kind || group_of(controller->api_version) != kJobSets.group)
    return "";
  return path_of(job.meta.ns, controller->name);
}

template <class Pointer>
auto pointer_to(const TypedObject* object) -> decltype(std::get_if<Pointer>(object)->get()) {
  if (object == nullptr) return nullptr;
  const Pointer* typed = std::get_if<Pointer>(object);
  return typed == nullptr ? nullptr : typed->get();
}

template <class Index, class Value>
std::vector<const Value*> values_at(const Index& index, const std::string& key, std::vector<const Value*> found = {}) {
  const auto entry = index.find(key);
  if (entry == index.end()) return found;
  for (const auto& [name, value] : entry->second) found.push_back(value);
  return found;
}

template <class Index>
void erase_at(Index& index, const std::string& key, const std::string& name) {
  const auto entry = index.find(key);
  if (entry == index.end()) return;
  entry->second.erase(name);
  if (entry->second.empty()) index.erase(entry);
}

}  // namespace

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

const PlainObject* ClusterState::plain(const ResourceType& type, std::string_view ns, std::string_view name) const {
  const TypedObject* object = find(type, ns, name);
  return object == nullptr ? nullptr : std::get_if<PlainObject>(object);
}

std::vector<const Job*> ClusterState::jobs_of_jobset(std::string_view ns, std::string_view name) const {
  return values_at<decltype(jobs_of_jobset_), Job>(jobs_of_jobset_, path_of(ns, name));
}

std::vector<const JobSet*> ClusterState::jobsets_of_subdomain(std::string_view ns, std::string_view subdomain) const {
  return values_at<decltype(jobsets_of_subdomain_), JobSet>(jobsets_of_subdomain_, path_of(ns, subdomain));
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
  const auto* jobset = std::get_if<JobSetPtr>(&given);
  const TypedObject object = jobset != nullptr ? TypedObject(templates_.intern(*jobset)) : given;
  Objects& objects = objects_[type_of(object).plural];
  auto [entry, is_new] = objects.try_emplace(path_of(meta_of(object)), object);
  Change change;
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
      jobs_of_jobset_[owner][(*job)->meta.name] = job->get();
    }
    gangs_.put(*job);
  } else if (const auto* jobset = std::get_if<JobSetPtr>(&object)) {
    jobsets_of_subdomain_[path_of((*jobset)->meta.ns, (*jobset)->subdomain)][(*jobset)->meta.name] = jobset->get();
  } else if (const auto* pod = std::get_if<PodPtr>(&object)) {
    gangs_.put(*pod);
  }
}

void ClusterState::unindex(const TypedObject& object) {
  if (const auto* job = std::get_if<JobPtr>(&object)) {
    if (std::string owner = controlling_jobset(**job); !owner.empty())
      erase_at(jobs_of_jobset_, owner, (*job)->meta.name);
    gangs_.remove(**job);
  } else if (const auto* jobset = std::get_if<JobSetPtr>(&object)) {
    erase_at(jobsets_of_subdomain_, path_of((*jobset)->meta.ns, (*jobset)->subdomain), (*jobset)->meta.name);
  } else if (const auto* pod = std::get_if<PodPtr>(&object)) {
    gangs_.remove(**pod);
  }
}

}  // namespace muster
