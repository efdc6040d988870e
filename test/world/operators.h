// Controllers of jobs that Kubernetes does not bring along, and of sets that serve, as far as muster meets them: what
// pods they make, when they delete them, and what they say in the status.
//
//   PyTorchJob        an operator makes one pod for each replica while spec.runPolicy.suspend is not true, deletes them
//                     when it is, and says Succeeded once its master has; the same for TFJob, XGBoostJob, PaddleJob,
//                     JAXJob and MPIJob
//   RayJob            the same with a head and groups of workers; it ends with its head
//   RayCluster        the same, and it never ends
//   RayService        the same, and it never ends
//   AppWrapper        the same with the pods that it contains
//   SparkApplication  the same with a driver and executors; it ends with its driver
//   Deployment        pods; what goes is made again
//   StatefulSet       pods in order, the next one once the last is ready; what goes is made again
//   LeaderWorkerSet   for each group a leader, and its workers once it is there; what goes is made again
//
// They see objects as they are, but act a moment later. Objects in between (a RayCluster, the StatefulSets of a
// LeaderWorkerSet) are left out: pods are owned by the job or the set. A Deployment's ReplicaSet is left out too, but
// its pods name one, with the Deployment's uid. See trainer.h for TrainJobs.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "test/world/api_server.h"
#include "test/world/operated_kinds.h"

namespace muster::world {

class Operators {
 public:
  // Both must outlive it.
  Operators(ApiServer& server, Timeline& timeline, uint64_t seed);

 private:
  // One look at one object.
  struct Sync {
    ObjectKey key;
    ObjectPtr object;
    std::string uid;
    std::vector<ObjectPtr> pods;

    const nlohmann::json* find(const std::string& name) const;
  };

  void see(const Change& change);
  void look_soon(const ObjectKey& key);
  void look_at(const ObjectKey& key);
  std::vector<ObjectPtr> pods_of(const std::string& uid) const;
  void run_job(const Sync& sync);
  void run_set(const Sync& sync);
  void create_pod(const Sync& sync, const WantedPod& wanted);
  void remove_pods(const Sync& sync, const std::set<std::string>& kept);
  void write_status(const Sync& sync, nlohmann::json status);

  ApiServer& server_;
  Timeline& timeline_;
  Chance chance_;
  std::set<ObjectKey> queued_;
};

}  // namespace muster::world
