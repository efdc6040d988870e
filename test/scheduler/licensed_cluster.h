// A scheduler with a further capacity, the licenses of toy_capacity.h.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/scheduler/capacity_cluster.h"
#include "test/scheduler/toy_capacity.h"

namespace muster::test {

inline const scheduler::CapacityKey kLicenses{1, Licenses::kUnit};

inline scheduler::FurtherCapacities licenses(int64_t exist) {
  scheduler::FurtherCapacities further;
  further.push_back(std::make_unique<Licenses>(exist));
  return further;
}

// `licenses` and cores by pod.
class LicensedCluster : public CapacityCluster {
 public:
  explicit LicensedCluster(int64_t exist) : CapacityCluster(licenses(exist)) {}

  void submit(const std::string& name, const char* queue, int64_t cores, int64_t licenses, int32_t priority = 0,
              const std::vector<Pods>& pods = {{}}) {
    const nlohmann::json metadata = {{"annotations", {{kLicensesAnnotation, std::to_string(licenses)}}}};
    CapacityCluster::submit(name, queue, cores, priority, pods, metadata.dump());
  }
  int64_t free_licenses() const { return scheduler.state().capacity.available(scheduler::kNoNode, kLicenses); }
};

}  // namespace muster::test
