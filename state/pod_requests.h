// What the pods of a Workload ask of a queue's quota: requests of all containers at
// their highest, RuntimeClass overhead, LimitRange defaults, limits where there are no
// requests; then without excluded resources and with transformed ones.
// Source: Kubernetes, component-helpers resource.PodRequests; Kueue, KEP-2937.
#pragma once

#include <optional>
#include <vector>

#include "api/config/queue_settings.h"
#include "api/limit_range.h"
#include "api/meta/field_error.h"
#include "api/pod_spec.h"
#include "api/requests.h"

namespace muster::state {

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

// With overhead, defaults, and limits where there are no requests.
PodResources adjusted_resources(const PodSpec& spec, const ResourceDefaults& defaults);

// What a node must have free for one pod.
ResourceList pod_requests(const PodResources& resources);

// The same, as quota counts it: without excluded and with transformed resources.
Requests quota_requests(const ResourceList& pod_requests, const QueueSettings& settings);

// Requests above limits; `path` is that of the PodSpec.
FieldErrors check_limits(const PodResources& resources, const FieldPath& path);
// Requests and limits that a LimitRange of the namespace does not allow.
FieldErrors check_limit_ranges(const PodResources& resources, const std::vector<const LimitRange*>& limit_ranges,
                               const FieldPath& path);

}  // namespace muster::state
