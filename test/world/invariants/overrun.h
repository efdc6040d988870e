// Whether the pods of queued jobs ever request more than what is admitted. It looks at what
// the API server stores, and knows nothing of muster's rules but these:
//
//  - a Job stands for itself if it has a queue name, or if all jobs are managed; a Job whose
//    controller is a JobSet that exists with that uid stands for that JobSet
//  - what is admitted for either is in the Workloads whose controller it is
//
// When a Workload ends or goes, its pods have half a minute to do so, too; as long a Job that
// loses its controller counts as a part of it, whose quota is still held. Pods that only a tenant has made (kForged)
// count for nothing: no Job controller would keep them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "test/world/world.h"

namespace muster::world {

// A label of pods that a test makes by hand.
inline constexpr std::string_view kForged = "simulation.muster.batch/forged";

class Overrun {
 public:
  // `world` must outlive it. `all_managed`: manageJobsWithoutQueueName.
  Overrun(World& world, bool all_managed) : world_(world), all_managed_(all_managed) {}

  // To be called after every step. A sentence per job that has too many pods now.
  std::vector<std::string> check();

 private:
  struct Admitted {
    int64_t cpus = 0;  // thousandths
    Duration until{};  // when it ended: how long it counts on; zero: it has not ended
  };
  void note_admissions();
  // The uid of the job that a Job stands for now; empty: of none that is queued.
  std::string root_of(const nlohmann::json& job) const;
  // The same, with the grace of those that have lost their controller.
  std::string counted_root_of(const nlohmann::json& job);

  World& world_;
  const bool all_managed_;
  struct Root {
    std::string uid;
    ObjectKey jobset;
    Duration last_seen{};  // as the root
  };
  std::map<std::string, Root> part_of_;                              // uid of a Job -> of the JobSet
  std::map<std::string, std::map<std::string, Admitted>> admitted_;  // uid of the job -> of the Workload
};

}  // namespace muster::world
