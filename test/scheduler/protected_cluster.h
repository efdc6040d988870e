// A cluster whose queues and classes protect what runs in them from preemption.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "scheduler/preemption/protection.h"
#include "scheduler/views/explanation.h"
#include "test/scheduler/scheduler_fixture.h"

namespace muster::test {

inline ClusterQueue protecting(ClusterQueue queue, PreemptionProtection protection) {
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  queue.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  queue.protection = protection;
  return queue;
}

inline Workload of_class(Workload workload, const char* name, const char* kind = "WorkloadPriorityClass") {
  workload.priority_class = PriorityClassRef{.group = "kueue.x-k8s.io", .kind = kind, .name = name};
  return workload;
}

class ProtectedCluster : public Cluster {
 public:
  using Cluster::Cluster;

  void put_class(const char* name, PreemptionProtection protection) {
    PriorityClass made;
    made.meta.name = name;
    made.protection = protection;
    scheduler.put(std::make_shared<const PriorityClass>(made));
  }
  // Admits and confirms what fits, and completes what is evicted; what was decided, as `Cluster::told`.
  std::string run(int64_t seconds) {
    const std::vector<scheduler::Decision> decisions = scheduler.drain(at(seconds));
    for (const scheduler::Decision& decision : decisions) {
      if (const auto* admitted = std::get_if<scheduler::Admitted>(&decision))
        confirm(*admitted, cores_.at(admitted->workload->meta.name), seconds);
    }
    return told(decisions);
  }
  void add(const Workload& given, int64_t cores, int64_t seconds) {
    cores_[given.meta.name] = cores;
    put(given, cores, seconds);
  }
  void finish(const char* name) { scheduler.remove_workload("team", name); }
  std::string reason_of(const char* name) {
    return scheduler::explain_pending(scheduler.state(), "team", name)->reason;
  }
  std::string message_of(const char* name) {
    return scheduler::explain_pending(scheduler.state(), "team", name)->message;
  }

 private:
  std::map<std::string, int64_t> cores_;
};

}  // namespace muster::test
