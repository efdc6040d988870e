// The controller of TrainJobs, as far as muster meets it: it makes a JobSet of the ClusterTrainingRuntime that a
// TrainJob names, gives it the patches of the runtime while the TrainJob is suspended, suspends and resumes it with the
// TrainJob, and says in the TrainJob's status how far the JobSet is. Namespaced runtimes and deletions of runtimes are
// left out.
//
// It sees objects as they are, but acts a moment later.
#pragma once

#include <nlohmann/json.hpp>
#include <set>

#include "test/world/api_server.h"

namespace muster::world {

class Trainer {
 public:
  // Both must outlive it.
  Trainer(ApiServer& server, Timeline& timeline, uint64_t seed);

 private:
  void see(const Change& change);
  void look_soon(const ObjectKey& key, Duration at_least = {});
  void look_at(const ObjectKey& key);
  void create_jobset(const ObjectKey& key, const nlohmann::json& job);

  ApiServer& server_;
  Timeline& timeline_;
  Chance chance_;
  std::set<ObjectKey> queued_;
};

}  // namespace muster::world
