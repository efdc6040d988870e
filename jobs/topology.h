// Topology-aware scheduling: what the annotations of a pod template ask for, and
// what is wrong with it. A pod set can be placed within one domain of a level
// (required, preferred), anywhere (unconstrained), in slices that each fit one
// domain, in several layers of slices, or together with another pod set (group).
// Source: Kueue, Topology Aware Scheduling (KEP-2724).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/rule_settings.h"
#include "base/result.h"
#include "jobs/job_kind.h"

namespace muster::jobs {

inline constexpr std::string_view kRequiredTopology = "kueue.x-k8s.io/podset-required-topology";
inline constexpr std::string_view kPreferredTopology = "kueue.x-k8s.io/podset-preferred-topology";
inline constexpr std::string_view kUnconstrainedTopology = "kueue.x-k8s.io/podset-unconstrained-topology";
inline constexpr std::string_view kSliceRequiredTopology = "kueue.x-k8s.io/podset-slice-required-topology";
inline constexpr std::string_view kSliceSize = "kueue.x-k8s.io/podset-slice-size";
inline constexpr std::string_view kSliceLayers = "kueue.x-k8s.io/podset-slice-required-topology-constraints";
inline constexpr std::string_view kPodSetGroupName = "kueue.x-k8s.io/podset-group-name";
// Those that become a topologyRequest, which muster cannot fulfil.
inline constexpr std::string_view kTopologyAnnotations[] = {
    kRequiredTopology, kPreferredTopology, kUnconstrainedTopology, kPodSetGroupName, kSliceRequiredTopology,
    kSliceSize,        kSliceLayers};
inline constexpr std::string_view kPodIndexOffset = "kueue.x-k8s.io/pod-index-offset";

// "spec.template.metadata.annotations" of a template.
FieldPath annotations_path(const ConstPodTemplateRef& pod_template);

// The result for one template's annotations alone.
FieldErrors check_topology_annotations(const RuleSettings& settings, const ConstPodTemplateRef& pod_template);

// Slices that are larger than the pod set. Values that are no numbers are left to
// check_topology_annotations.
FieldErrors check_slice_bounds(const ConstPodTemplateRef& pod_template);

// One layer of slices: this number of pods in one domain of this level.
struct SliceLayer {
  std::string topology;
  int64_t size;
};
// From the annotation's JSON, coarsest layer first.
Result<std::vector<SliceLayer>> parse_slice_layers(std::string_view text);
// The rules among layers; `field` is the annotation's.
FieldErrors check_slice_layers(const FieldPath& field, std::string_view text);

}  // namespace muster::jobs
