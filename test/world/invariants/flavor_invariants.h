// What must hold of flavor fallback in every state of every run:
//
//   not again   no Workload gets quota on a flavor that has failed for it
//   no loop     under DeactivateWorkload a Workload leaves each flavor of its queue once at most
//               before it is deactivated, its pods are ready, or its queue has other rules
//
// It looks at what the API server stores, and knows nothing of muster's scheduler.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/cluster_queue.h"
#include "api/meta/object_pointers.h"
#include "test/world/api_server.h"

namespace muster::world {

class FlavorInvariants {
 public:
  // `violated` takes a sentence.
  explicit FlavorInvariants(std::function<void(std::string)> violated) : violated_(std::move(violated)) {}

  void see(const Change& change);

 private:
  void see_workload(const Change& change);
  void check_reservation(const Workload& workload);
  void count_fallback(const Workload& workload);

  std::function<void(std::string)> violated_;
  std::map<std::string, ClusterQueuePtr> queues_;  // by name
  std::map<std::string, int> left_;                // fallbacks of a Workload, by uid
};

}  // namespace muster::world
