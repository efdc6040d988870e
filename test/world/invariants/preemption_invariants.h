// What must hold of every preemption in every run:
//
//   by right    a Workload that is preempted in its own ClusterQueue under LowerPriority has a lower priority
//               than its preemptor
//   protected   no Workload is preempted sooner after its admission than its priority class, or else its ClusterQueue,
//               protects it, as far as the preemptor's ClusterQueue respects that, unless the preemptor was there
//               before the admission
//
// It looks at what the API server stores, and knows nothing of muster's scheduler. A clock that is set makes stamps
// say too little, and a write that is late makes what was seen say too little: both must. A Workload that has
// another class than at its admission is left out: whether muster knows the first one depends on restarts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "api/cluster_queue.h"
#include "api/meta/object_pointers.h"
#include "api/priority_class_ref.h"
#include "test/world/api_server.h"

namespace muster::world {

class PreemptionInvariants {
 public:
  // The server and the timeline must outlive it; `clock_skew`: see Faults; `violated` takes a sentence.
  PreemptionInvariants(const ApiServer& server, const Timeline& timeline, double clock_skew,
                       std::function<void(std::string)> violated)
      : server_(server), timeline_(timeline), clock_skew_(clock_skew), violated_(std::move(violated)) {}

  void see(const Change& change);

 private:
  // nullptr when it has gone.
  WorkloadPtr preemptor_of(const Workload& victim) const;
  ClusterQueuePtr cluster_queue(const std::string& name) const;
  ClusterQueuePtr queue_of(const Workload& pending) const;
  Duration protection_of(const Workload& victim, const ClusterQueue& its,
                         std::optional<Duration> PreemptionProtection::*kind) const;
  void check_right(const Workload& victim, const Workload& preemptor, const ClusterQueue& queue);
  void check_protection(const Workload& victim, const Workload& preemptor, const ClusterQueue& its,
                        const ClusterQueue& preemptors);

  const ApiServer& server_;
  const Timeline& timeline_;
  const double clock_skew_;
  struct Admitted {
    Duration at{};  // when it was seen
    std::optional<PriorityClassRef> priority_class{};
  };
  std::map<std::string, Admitted> admitted_;  // by the Workload's uid
  std::function<void(std::string)> violated_;
};

}  // namespace muster::world
