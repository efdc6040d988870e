// How many Workloads each queue has, and what they use, kept up to date with every change
// of a Workload, so that a queue's status costs the same with 50,000 Workloads as with one.
// Part of ClusterState; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/meta/object_pointers.h"
#include "api/requests.h"

namespace muster::state {

// By flavor; without flavors and resources of which nothing is used.
using FlavorAmounts = std::map<std::string, Requests, std::less<>>;
int64_t amount_of(const FlavorAmounts& amounts, std::string_view flavor, std::string_view resource);

// What the Workload has reserved; if it `reclaims`, without what it has given back for finished pods.
FlavorAmounts reserved_amounts(const Workload& workload, bool reclaims);

// Workloads that are not admitted, by the reasons of Admitted=False and QuotaReserved=False,
// worded for metrics; the second is empty when quota is reserved.
using UnadmittedCounts = std::map<std::pair<std::string, std::string>, int32_t>;

struct QueueCounts {
  int32_t pending = 0;    // active, not finished, without reservation; of LocalQueues only
  int32_t reserving = 0;  // those that are admitted are among them
  int32_t admitted = 0;
  FlavorAmounts reserved;
  FlavorAmounts used;  // by those that are admitted
  // Of LocalQueues only.
  int32_t finished = 0;
  UnadmittedCounts unadmitted;

  bool operator==(const QueueCounts&) const = default;
};

class QueueCountIndex {
 public:
  // `reclaims`: the gate ReclaimablePods.
  explicit QueueCountIndex(bool reclaims) : reclaims_(reclaims) {}

  // Of a version of a Workload: added, and taken away when another one replaces it.
  void add(const Workload& workload) { count(workload, 1); }
  void remove(const Workload& workload) { count(workload, -1); }

  // Zeros when nothing is known.
  const QueueCounts& of_cluster_queue(std::string_view name) const;
  const QueueCounts& of_local_queue(std::string_view ns, std::string_view name) const;
  // By "ns/name": all that Workloads name, whether they exist or not.
  using Counts = std::map<std::string, QueueCounts, std::less<>>;
  const Counts& local_queues() const { return local_queues_; }

 private:
  void count(const Workload& workload, int sign);

  bool reclaims_;
  Counts cluster_queues_;
  Counts local_queues_;  // by "ns/name"
};

}  // namespace muster::state
