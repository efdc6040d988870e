// A hostile tenant: has every verb on the Jobs, JobSets, pods and ConfigMaps of one
// namespace, reads its LocalQueues and Workloads, and tries in seeded random order what
// could give it more than is admitted: forged owners of every kind and group, queue names,
// suspend, counts, templates, managedBy, reserved labels and annotations, status, deletion
// and re-creation under one name, changed parts of JobSets, forged pods and ConfigMaps.
#pragma once

#include <string>
#include <vector>

#include "simulation/world.h"

namespace muster::simulation {

class HostileTenant {
 public:
  // `world` must outlive it. Its LocalQueue is `team`.
  HostileTenant(World& world, uint64_t seed, std::string ns);

  // Tries one thing; what it was, for a failing test.
  std::string act();

 private:
  size_t pick(size_t count) { return static_cast<size_t>(chance_.number() % count); }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[pick(all.size())];
  }
  nlohmann::json a_job(const std::string& name);
  nlohmann::json a_jobset(const std::string& name);
  nlohmann::json a_refused_jobset(const std::string& name);
  nlohmann::json an_owner();
  // A Job or JobSet of its namespace; nullopt when there is none.
  std::optional<ObjectKey> a_target();
  std::string create();
  std::string forge_pod();
  std::string change(const ObjectKey& target);
  nlohmann::json change_of_metadata();
  nlohmann::json change_of_spec(const ObjectKey& target);
  nlohmann::json change_of_status(const ObjectKey& target);
  std::string told(const std::string& what, const Answer& answer) const;

  World& world_;
  Chance chance_;
  const std::string ns_;
  int made_ = 0;
};

}  // namespace muster::simulation
