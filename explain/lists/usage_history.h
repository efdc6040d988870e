// What each ClusterQueue has used and how many waited, at regular moments of the last day. It lives in the memory of
// one replica and starts empty with it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta/time.h"
#include "base/clock.h"
#include "base/result.h"
#include "explain/lists/queue_snapshot.h"

namespace muster::explain {

inline constexpr Duration kUsageInterval = std::chrono::minutes(5);

// One thread. Its memory is bounded: kMostSamples for each ClusterQueue that exists.
class UsageHistory {
 public:
  static constexpr size_t kMostSamples = 288;  // a day

  // A sample of every ClusterQueue; the oldest ones and queues that are gone are forgotten. Positions and Workloads of
  // the listing are not used.
  void add(const QueueListing& listed);
  // {kind: UsageHistory, metadata: {clusterQueue, intervalSeconds}, times, pending, reserving, resources: [{flavor,
  // resource, used}]}: lists of one length, the earliest first. An error: there is no such queue in the last sample.
  Result<nlohmann::json> of_cluster_queue(std::string_view name) const;

 private:
  // Numbers side by side, and used as a ring: 1,000 queues with four quotas have 1.4 million of them.
  struct Sample {
    int64_t at = 0;  // seconds since 1970
    uint32_t pending = 0, reserving = 0;
  };
  struct Series {
    std::vector<std::pair<std::string, std::string>> quotas;  // flavor and resource
    std::vector<Sample> samples;
    std::vector<int64_t> used;  // quotas.size() of each sample
    size_t first = 0;           // of the samples, once there are kMostSamples
  };

  static void add(const scheduler::ListedClusterQueue& queue, Timestamp at, Series& series);
  static void widen(Series& series, const std::pair<std::string, std::string>& quota);

  std::map<std::string, Series, std::less<>> queues_;
};

}  // namespace muster::explain
