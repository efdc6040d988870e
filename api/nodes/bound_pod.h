// A pod that has a node, as a value: what it takes there, and which Workload it says it belongs to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "api/requests.h"

namespace muster {

struct BoundPod {
  std::string uid;
  std::string ns;
  std::string node;
  // From the pod's own annotation and label, which muster puts there and its owner can change: a hint, never a proof.
  std::string workload{};
  std::string pod_set{};
  Requests requests{};  // with one of "pods"
  bool deleting = false;

  bool operator==(const BoundPod&) const = default;
};

// nullopt: it has no node, or has ended, so that it takes nothing.
std::optional<BoundPod> read_bound_pod(const nlohmann::json& object);

}  // namespace muster
