// The extension point for what a pod requests of quota: its template, the overhead of a RuntimeClass, the defaults of
// LimitRanges, claims of devices. docs/recipes.md has the steps.
//
// A source fills in what the API server adds to the resources of a pod, adds requests, or refuses the Workload; and it
// says which Workloads a changed object concerns. Transformed and excluded resources are no source: they say how quota
// counts the requests of all sources (state/pod_requests.h). Pure functions of values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/config/queue_settings.h"
#include "api/meta/field_error.h"
#include "api/meta/object_pointers.h"
#include "api/pods/pod_requests.h"
#include "kinds/typed_object.h"

namespace muster {

struct PodSet;

}  // namespace muster

namespace muster::state {

class ClusterState;

// What a source reads. References for one call.
struct DemandContext {
  std::string_view ns;  // of the Workload
  const ClusterState& state;
  const QueueSettings& settings;
};

// One pod of a pod set.
struct PodDemand {
  const PodSet& pod_set;
  const PodSpec& spec;
  PodResources resources;   // after fill() of all sources
  ResourceList requests{};  // of the sources before this one
};

// The requests of a Workload, and the reason why it can never run.
struct DemandDraft {
  std::vector<PodDemand> pods{};  // one of each pod set, in their order
  std::string misconfigured{};

  // The first refusal counts.
  void refuse(std::string_view why);
  // In the form of Kueue's messages; nothing without errors.
  void refuse(std::string_view what, const FieldErrors& errors);
};

// Of the PodSpec of a pod set, for errors.
FieldPath path_of_pod(size_t pod_set);

// What a source does not do is nullptr.
struct DemandSource {
  std::string_view name;
  // What the API server adds to the resources of a pod in this namespace. Also for pods without a Workload.
  void (*fill)(const PodSpec& spec, std::string_view ns, const ClusterState& state, PodResources& resources) = nullptr;
  // Adds to the requests of each pod, or refuses. Called at each change of a pending Workload.
  void (*add)(const DemandContext& context, DemandDraft& draft) = nullptr;
  // Adds the Workloads whose requests can differ after this object came, changed or went. Called for each object of
  // every kind. Workloads that are not pending are left out by the caller.
  void (*affected)(const TypedObject& changed, const ClusterState& state,
                   std::vector<WorkloadPtr>& workloads) = nullptr;
};

}  // namespace muster::state
