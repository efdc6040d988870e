// What must hold of pending Workloads in ClusterQueues with flavor fallback:
//
//   not idle    no Workload stays pending for longer than kPatience while every resource that it requests
//               has a flavor that has not failed for it, with enough free nominal quota all the time
//
// It looks at what the API server stores, and knows nothing of muster's scheduler. StrictFIFO ClusterQueues and those
// in Cohorts, flavors with taints and pods that select nodes are left out: what they can get is more than a sum.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/cluster_queue.h"
#include "api/meta/object_pointers.h"
#include "api/requests.h"
#include "test/world/api_server.h"

namespace muster::world {

class IdleFlavors {
 public:
  // Leaders are killed every 20 s in a storm; each next one waits for its Lease and its watches, and writes are
  // refused.
  static constexpr Duration kPatience = std::chrono::minutes(5);

  // Both must outlive it; `violated` takes a sentence.
  IdleFlavors(const ApiServer& server, const Timeline& timeline, std::function<void(std::string)> violated)
      : server_(server), timeline_(timeline), violated_(std::move(violated)) {}

  void see(const Change& change);

 private:
  void review();
  // The flavors that it could get now, as text; empty: it has to wait.
  std::string could_get(const Workload& workload) const;
  ClusterQueuePtr queue_of(const Workload& workload) const;
  bool is_ready(const ClusterQueue& queue) const;
  Requests used_of(const std::string& queue, const FlavorQuotas& flavor) const;
  std::string free_flavor(const Workload& workload, const ClusterQueue& queue, const ResourceGroup& group,
                          const Requests& requests) const;

  const ApiServer& server_;
  const Timeline& timeline_;
  std::function<void(std::string)> violated_;
  std::map<std::string, ClusterQueuePtr> queues_;  // those with rules, by name
  std::map<std::string, WorkloadPtr> workloads_;   // that have not finished, by uid
  std::map<std::string, Duration> idle_since_;     // pending Workloads that could have quota, by uid
};

}  // namespace muster::world
