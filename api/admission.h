// The quota that is reserved for a Workload (status.admission of kueue.x-k8s.io/v1beta2).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/requests.h"

namespace muster {

struct PodSetAssignment {
  std::string name;
  std::map<std::string, std::string, std::less<>> flavors;  // by resource
  ResourceList resource_usage;                              // of the whole pod set
  std::optional<int32_t> count;

  bool operator==(const PodSetAssignment&) const = default;
};

// Quota that is reserved.
struct Admission {
  std::string cluster_queue;
  std::vector<PodSetAssignment> pod_sets;

  bool operator==(const Admission&) const = default;
  const PodSetAssignment* find(std::string_view pod_set) const;
};

// Each once, in the order of the pod sets and their resources.
std::vector<std::string> assigned_flavors(const Admission& admission);

// nullopt: null, or no object.
std::optional<Admission> read_admission(const nlohmann::json* object);
nlohmann::json to_json(const Admission& admission);

}  // namespace muster
