// Why a Workload waits, with the numbers: what `muster explain` and the status of queues
// say about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// One flavor for one resource of one pod set.
struct FlavorExplanation {
  std::string pod_set;
  std::string flavor;
  std::string resource;
  int64_t requested = 0;  // by all pods of it and of the pod sets before it
  int64_t free = 0;       // unused and within reach of the ClusterQueue, now
  int64_t nominal = 0;    // of the ClusterQueue
  int64_t most = 0;       // what it could have if nobody else used anything
  std::string verdict;    // a sentence
};

struct Explanation {
  std::string cluster_queue;
  std::string reason;   // Kueue's token of QuotaReserved=False; "" before the first evaluation
  std::string message;  // a sentence
  std::string outlook;  // what would change it; a sentence
  std::vector<FlavorExplanation> flavors;
  size_t position = 0;               // in the ClusterQueue's queue, from 0
  std::vector<std::string> ahead{};  // "namespace/name" of the first ones before it
};

}  // namespace muster
