// The pods of one role of a job, as a Workload asks quota for them (spec.podSets of kueue.x-k8s.io/v1beta2).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/pod_spec.h"

namespace muster {

// Whether a topologyRequest names a place: a level, no level at all (unconstrained), slices or a group.
bool asks_for_topology(const nlohmann::json& topology_request);

struct PodSet {
  std::string name;
  int32_t count = 1;
  std::optional<int32_t> min_count;  // partial admission
  PodTemplate pod_template;
  // JSON text of topologyRequest, which muster hands on as it is; empty: none.
  std::string topology_request_text;
  // The request names a place for the pods, and does not only say how they are indexed.
  bool asks_for_topology = false;
};

// Pods of a pod set that have completed and need no quota any more.
struct ReclaimablePod {
  std::string name;
  int32_t count = 0;

  bool operator==(const ReclaimablePod&) const = default;
};

PodSet read_pod_set(const nlohmann::json& object);
// spec.podSets; the list is written whole or not at all.
nlohmann::json to_json(const std::vector<PodSet>& pod_sets);
nlohmann::json to_json(const ReclaimablePod& pod);

}  // namespace muster
