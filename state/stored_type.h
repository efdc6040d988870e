// The kind of the objects that a C++ type stands for, where it is one kind.
#pragma once

#include <memory>
#include <variant>

#include "kinds/typed_object.h"

namespace muster::state {

// nullptr: objects of the type are of several kinds, which a lookup names.
template <class Object>
inline constexpr const ResourceType* kStoredType = nullptr;
template <>
inline constexpr const ResourceType* kStoredType<Job> = &kJobs;
template <>
inline constexpr const ResourceType* kStoredType<JobSet> = &kJobSets;
template <>
inline constexpr const ResourceType* kStoredType<QueuedPod> = &kQueuedPods;
template <>
inline constexpr const ResourceType* kStoredType<ConfigMap> = &kConfigMaps;
template <>
inline constexpr const ResourceType* kStoredType<Service> = &kServices;
template <>
inline constexpr const ResourceType* kStoredType<Workload> = &kWorkloads;
template <>
inline constexpr const ResourceType* kStoredType<ClusterQueue> = &kClusterQueues;
template <>
inline constexpr const ResourceType* kStoredType<LocalQueue> = &kLocalQueues;
template <>
inline constexpr const ResourceType* kStoredType<Cohort> = &kCohorts;
template <>
inline constexpr const ResourceType* kStoredType<ResourceFlavor> = &kResourceFlavors;
template <>
inline constexpr const ResourceType* kStoredType<AdmissionCheck> = &kAdmissionChecks;
template <>
inline constexpr const ResourceType* kStoredType<RuntimeClass> = &kRuntimeClasses;

// The object of type `Object` (Workload, Job and so on) that `object` points to. Owned by `*object`; nullptr: no
// object, or an object of another type.
template <class Object>
const Object* pointer_to(const TypedObject* object) {
  if (object == nullptr) return nullptr;
  const auto* typed = std::get_if<std::shared_ptr<const Object>>(object);
  return typed == nullptr ? nullptr : typed->get();
}

}  // namespace muster::state
