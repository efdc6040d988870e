// A hostile tenant: has every verb on the Jobs, JobSets, Deployments, pods and ConfigMaps of one namespace, reads its
// LocalQueues and Workloads, and tries in seeded random order what could give it more than is admitted:
//
//   owners       forged ones of every kind and group, that exist or not
//   requests     counts and templates, also while suspended; limits without requests
//   names        queues, also in templates; classes that do not exist; reserved labels and annotations
//   status       of its jobs
//   ends         deletion and re-creation under one name, finalizers, orphans, long graces, pods on dead nodes
//   parts        of JobSets, before and after; pods and ConfigMaps by hand; a set whose pods all claim to be one group
//
// What muster cannot prevent is left out: a user who can change pods takes the labels off a running one, and its Job
// makes another (docs/threat-model.md).
#pragma once

#include <string>
#include <vector>

#include "test/world/world.h"

namespace muster::world {

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
  nlohmann::json a_pod_template(int cpus);
  nlohmann::json a_job(const std::string& name);
  nlohmann::json a_jobset(const std::string& name);
  nlohmann::json a_refused_jobset(const std::string& name);
  nlohmann::json an_owner();
  // A Job or JobSet of its namespace; nullopt when there is none.
  std::optional<ObjectKey> a_target();
  std::string create();
  std::string create_set();
  std::string forge_pod();
  std::string end(const ObjectKey& target);
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

}  // namespace muster::world
