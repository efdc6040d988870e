// What the API server makes of the resources of a pod template, and what the scheduler counts for such a pod: requests
// of all containers at their highest, RuntimeClass overhead, limits where there are no requests, LimitRange defaults
// where there is neither. Pure. Source: Kubernetes, defaults of core/v1, admission LimitRanger and RuntimeClass,
// component-helpers resource.PodRequests.
#pragma once

#include <optional>
#include <vector>

#include "api/meta/field_error.h"
#include "api/pod_spec.h"
#include "api/pods/limit_range.h"

namespace muster {

// The part of a PodSpec that says what it needs.
struct PodResources {
  std::vector<ContainerSpec> init_containers;
  std::vector<ContainerSpec> containers;
  std::optional<ResourceRequirements> pod;
  ResourceList overhead;
};

// What the cluster adds to a pod's own words.
struct ResourceDefaults {
  std::vector<const LimitRange*> limit_ranges;  // of the namespace, by name
  const RuntimeClass* runtime_class = nullptr;  // the one that the pod names, if there is one
};

// In the order of the API server: it reads a pod, where a limit is also the request, before it applies RuntimeClasses
// and LimitRanges. For a pod as a whole, a limit is the request also where its containers request less.
PodResources template_resources(const PodSpec& spec);
// The overhead of the RuntimeClass, if the template has none.
void fill_overhead(PodResources& resources, const RuntimeClass& runtime_class);
// The defaults of the LimitRanges of the namespace.
void fill_defaults(PodResources& resources, const std::vector<const LimitRange*>& limit_ranges);

// All three: the resources of the pods that the API server makes of the template.
PodResources adjusted_resources(const PodSpec& spec, const ResourceDefaults& defaults);

// What a node must have free for one pod.
ResourceList pod_requests(const PodResources& resources);

// By resource.
void add(ResourceList& sum, const ResourceList& more);

// Requests above limits; `path` is that of the PodSpec.
FieldErrors check_limits(const PodResources& resources, const FieldPath& path);
// Requests and limits that a LimitRange of the namespace does not allow.
FieldErrors check_limit_ranges(const PodResources& resources, const std::vector<const LimitRange*>& limit_ranges,
                               const FieldPath& path);

}  // namespace muster
