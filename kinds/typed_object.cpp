#include "kinds/typed_object.h"

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "api/cluster_queue.h"
#include "api/config_map.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/pod.h"
#include "api/pods/in_place_pod.h"
#include "api/pods/limit_range.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "base/overloaded.h"
#include "kinds/described_job.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"

namespace muster {

TypedObject read_object(const ResourceType& type, const nlohmann::json& object) {
  using Read = TypedObject (*)(const nlohmann::json&);
  static const std::map<std::string_view, Read> kReaders = {
      {kJobs.kind, [](const auto& json) -> TypedObject { return read_job(json); }},
      {kJobSets.kind, [](const auto& json) -> TypedObject { return read_jobset(json); }},
      {kWorkloads.kind, [](const auto& json) -> TypedObject { return read_workload(json); }},
      {kPods.kind, [](const auto& json) -> TypedObject { return read_pod(json); }},
      {kConfigMaps.kind, [](const auto& json) -> TypedObject { return read_config_map(json); }},
      {kServices.kind, [](const auto& json) -> TypedObject { return read_service(json); }},
      {kClusterQueues.kind, [](const auto& json) -> TypedObject { return read_cluster_queue(json); }},
      {kLocalQueues.kind, [](const auto& json) -> TypedObject { return read_local_queue(json); }},
      {kCohorts.kind, [](const auto& json) -> TypedObject { return read_cohort(json); }},
      {kResourceFlavors.kind, [](const auto& json) -> TypedObject { return read_resource_flavor(json); }},
      {kAdmissionChecks.kind, [](const auto& json) -> TypedObject { return read_admission_check(json); }},
      {kWorkloadPriorityClasses.kind, [](const auto& json) -> TypedObject { return read_priority_class(json, false); }},
      {kPriorityClasses.kind, [](const auto& json) -> TypedObject { return read_priority_class(json, true); }},
      {kLimitRanges.kind, [](const auto& json) -> TypedObject { return read_limit_range(json); }},
      {kRuntimeClasses.kind, [](const auto& json) -> TypedObject { return read_runtime_class(json); }},
  };
  if (const KindDescription* described = find_described_kind(type.group, type.kind))
    return read_described_job(*described, object);
  if (const KindDescription* serving = find_serving_description(type.group, type.kind))
    return read_described_job(*serving, object);
  if (type == kQueuedPods) return read_queued_pod(object);
  if (type == kInPlacePods) return read_in_place_pod(object);
  const auto reader = kReaders.find(type.kind);
  if (reader != kReaders.end()) return reader->second(object);
  PlainObject plain{&type, read_meta(object), nullptr};
  if (type.kind != kNamespaces.kind && type.kind != kPersistentVolumeClaims.kind)
    plain.object = std::make_shared<const nlohmann::json>(object);
  return std::make_shared<const PlainObject>(std::move(plain));
}

const ResourceType& type_of(const TypedObject& object) {
  return std::visit(Overloaded{
                        [](const JobPtr&) -> const ResourceType& { return kJobs; },
                        [](const JobSetPtr&) -> const ResourceType& { return kJobSets; },
                        [](const DescribedJobPtr& job) -> const ResourceType& { return job->kind->type(); },
                        [](const WorkloadPtr&) -> const ResourceType& { return kWorkloads; },
                        [](const PodPtr&) -> const ResourceType& { return kPods; },
                        [](const QueuedPodPtr&) -> const ResourceType& { return kQueuedPods; },
                        [](const InPlacePodPtr&) -> const ResourceType& { return kInPlacePods; },
                        [](const PodGroupPtr&) -> const ResourceType& { return kQueuedPods; },
                        [](const ConfigMapPtr&) -> const ResourceType& { return kConfigMaps; },
                        [](const ServicePtr&) -> const ResourceType& { return kServices; },
                        [](const ClusterQueuePtr&) -> const ResourceType& { return kClusterQueues; },
                        [](const LocalQueuePtr&) -> const ResourceType& { return kLocalQueues; },
                        [](const CohortPtr&) -> const ResourceType& { return kCohorts; },
                        [](const ResourceFlavorPtr&) -> const ResourceType& { return kResourceFlavors; },
                        [](const AdmissionCheckPtr&) -> const ResourceType& { return kAdmissionChecks; },
                        [](const PriorityClassPtr& priority) -> const ResourceType& {
                          return priority->for_pods ? kPriorityClasses : kWorkloadPriorityClasses;
                        },
                        [](const LimitRangePtr&) -> const ResourceType& { return kLimitRanges; },
                        [](const RuntimeClassPtr&) -> const ResourceType& { return kRuntimeClasses; },
                        [](const PlainObjectPtr& plain) -> const ResourceType& { return *plain->type; },
                    },
                    object);
}

const ObjectMeta& meta_of(const TypedObject& object) {
  return std::visit([](const auto& pointer) -> const ObjectMeta& { return pointer->meta; }, object);
}

bool ObjectKey::operator<(const ObjectKey& other) const {
  return std::forward_as_tuple(type->id(), ns, name) < std::forward_as_tuple(other.type->id(), other.ns, other.name);
}

ObjectKey key_of(const TypedObject& object) {
  return key_of(type_of(object), meta_of(object));
}

ObjectKey key_of(const ResourceType& type, const ObjectMeta& meta) {
  return {&type, meta.ns, meta.name};
}

nlohmann::json controller_reference(const ResourceType& type, const ObjectMeta& meta, bool block_owner_deletion) {
  return {{"apiVersion", type.api_version},
          {"kind", type.kind},
          {"name", meta.name},
          {"uid", meta.uid},
          {"controller", true},
          {"blockOwnerDeletion", block_owner_deletion}};
}

ObjectReference reference_to(const ResourceType& type, const ObjectMeta& meta) {
  return {.api_version = std::string(type.api_version),
          .kind = std::string(type.kind),
          .ns = meta.ns,
          .name = meta.name,
          .uid = meta.uid};
}

ObjectEvent event_about(const ResourceType& type, const ObjectMeta& meta, EventReason reason, std::string note) {
  return event_about(reference_to(type, meta), reason, std::move(note));
}

ObjectEvent event_about_version(const ResourceType& type, const ObjectMeta& meta, EventReason reason,
                                std::string note) {
  ObjectEvent event = event_about(type, meta, reason, std::move(note));
  event.regarding.resource_version = std::to_string(meta.resource_version);
  return event;
}

ObjectEvent event_about(const OwnerReference& owner, const std::string& ns, EventReason reason, std::string note) {
  return event_about(
      {.api_version = owner.api_version, .kind = owner.kind, .ns = ns, .name = owner.name, .uid = owner.uid}, reason,
      std::move(note));
}

std::string to_text(const ObjectKey& key) {
  std::string text(key.type->plural);
  text += '/';
  if (!key.ns.empty()) text += key.ns + "/";
  return text + key.name;
}

}  // namespace muster
