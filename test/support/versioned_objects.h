// Objects of the namespace team-a in a version, for tests of the state and of its indexes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinds/typed_object.h"

namespace muster::test {

inline nlohmann::json versioned_meta(const char* name, int version, const char* uid = "u") {
  return {{"namespace", "team-a"}, {"name", name}, {"uid", uid}, {"resourceVersion", std::to_string(version)}};
}

inline TypedObject versioned_job(const char* name, int version, const char* jobset = nullptr, int parallelism = 1) {
  nlohmann::json object = {{"metadata", versioned_meta(name, version)}, {"spec", {{"parallelism", parallelism}}}};
  if (jobset != nullptr) {
    object["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                              {"kind", "JobSet"},
                                              {"name", jobset},
                                              {"uid", "owner"},
                                              {"controller", true}}};
  }
  return read_object(kJobs, object);
}

struct Placed {
  const char* queue = "q";
  const char* cluster_queue = nullptr;  // that it has quota of
  const char* owner = nullptr;          // its uid
};

inline TypedObject versioned_workload(const char* name, int version, Placed placed = {}) {
  nlohmann::json object = {{"metadata", versioned_meta(name, version)}, {"spec", {{"queueName", placed.queue}}}};
  if (placed.cluster_queue != nullptr) object["status"]["admission"]["clusterQueue"] = placed.cluster_queue;
  if (placed.owner != nullptr) {
    object["metadata"]["ownerReferences"] = {
        {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j"}, {"uid", placed.owner}, {"controller", true}}};
  }
  return read_object(kWorkloads, object);
}

template <class Object>
std::string names_of(const std::vector<const Object*>& objects) {
  std::string names;
  for (const Object* each : objects) names += (names.empty() ? "" : " ") + each->meta.name;
  return names;
}

}  // namespace muster::test
