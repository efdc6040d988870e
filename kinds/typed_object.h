// Objects as the engine holds them: typed, small and shared, never a JSON tree. What a
// watch receives is read into one of these on the watch's own thread.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "api/meta/object_event.h"
#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/meta/resource_type.h"
#include "api/texts/event_reasons.h"

namespace muster {

// Kinds that are few (webhook configurations, CRDs): as they came. Of Namespaces and
// PersistentVolumeClaims only the metadata; `object` is null.
struct PlainObject {
  const ResourceType* type;
  ObjectMeta meta;
  std::shared_ptr<const nlohmann::json> object;
};
using PlainObjectPtr = std::shared_ptr<const PlainObject>;

using TypedObject =
    std::variant<JobPtr, JobSetPtr, DescribedJobPtr, WorkloadPtr, PodPtr, QueuedPodPtr, InPlacePodPtr, PodGroupPtr,
                 ConfigMapPtr, ServicePtr, ClusterQueuePtr, LocalQueuePtr, CohortPtr, ResourceFlavorPtr,
                 AdmissionCheckPtr, PriorityClassPtr, LimitRangePtr, RuntimeClassPtr, PlainObjectPtr>;

// Never fails: what has the wrong shape reads as absent. `type` must outlive the object.
TypedObject read_object(const ResourceType& type, const nlohmann::json& object);

const ResourceType& type_of(const TypedObject& object);
const ObjectMeta& meta_of(const TypedObject& object);

// Names one object of the cluster, whether it exists or not.
struct ObjectKey {
  const ResourceType* type;
  std::string ns;  // empty for cluster-scoped kinds
  std::string name;

  bool operator==(const ObjectKey& other) const { return *type == *other.type && ns == other.ns && name == other.name; }
  bool operator<(const ObjectKey& other) const;
};
ObjectKey key_of(const TypedObject& object);
ObjectKey key_of(const ResourceType& type, const ObjectMeta& meta);
// An entry of metadata.ownerReferences that makes this object the controller.
nlohmann::json controller_reference(const ResourceType& type, const ObjectMeta& meta, bool block_owner_deletion);
// For an Event about this object; without the version.
ObjectReference reference_to(const ResourceType& type, const ObjectMeta& meta);
ObjectEvent event_about(const ResourceType& type, const ObjectMeta& meta, EventReason reason, std::string note);
// The same about the object in this version.
ObjectEvent event_about_version(const ResourceType& type, const ObjectMeta& meta, EventReason reason, std::string note);
// The same about an owner in this namespace, of whom only the reference is known.
ObjectEvent event_about(const OwnerReference& owner, const std::string& ns, EventReason reason, std::string note);
// "jobs/team-a/train", for people.
std::string to_text(const ObjectKey& key);

}  // namespace muster
