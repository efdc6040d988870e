// The data of lists for users: every unfinished Workload and the quota of every queue, as the scheduler knows them at
// one moment. A value: it can be sorted and read on another thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_queue.h"
#include "api/meta/object_pointers.h"
#include "api/meta/time.h"

namespace muster::scheduler {

struct SchedulerState;

// A Workload that waits in a ClusterQueue.
struct PendingEntry {
  WorkloadPtr object;
  int32_t priority = 0;
  Timestamp queued_since;  // its place among those of the same priority
  bool preferred = false;  // its preemptions are in progress: it comes first
};

// Whether `a` comes before `b`: the order of the queue, as queued_before().
bool comes_before(const PendingEntry& a, const PendingEntry& b);

// A Workload that holds quota of a ClusterQueue, also by a decision that is not written yet.
struct HolderEntry {
  WorkloadPtr object;
  bool assumed = false;  // not written yet: its object is still pending
};

// Amounts of a flavor's resource, in the unit of api/requests.h.
struct ListedQuota {
  std::string flavor;
  std::string resource;
  int64_t nominal = 0;
  std::optional<int64_t> borrowing_limit{};
  int64_t used = 0;      // by the queue; of a Cohort: by its subtree, beyond the quota that the children keep
  int64_t borrowed = 0;  // of `used`, beyond the nominal quota; queues only
  int64_t free = 0;      // quota that a queue can still use; the unused quota of a Cohort's tree
  int64_t most = 0;      // a queue's maximum while all others are idle; a Cohort: the total of its tree
};

struct ListedClusterQueue {
  ClusterQueuePtr object;
  // Why it admits no Workloads, in the words of its Active condition; empty: it is active.
  std::string inactive_reason{};
  std::string inactive_message{};
  std::string cohort{};
  std::vector<ListedQuota> quotas{};
  std::vector<PendingEntry> pending{};  // in no order
  std::vector<HolderEntry> holders{};   // in no order
};

struct ListedCohort {
  std::string name;
  std::string parent{};
  std::vector<ListedQuota> quotas{};
};

struct Listing {
  std::vector<ListedClusterQueue> cluster_queues;  // by name
  std::vector<ListedCohort> cohorts;               // by name
  // Workloads in no queue: deactivated, or without a ClusterQueue.
  std::vector<WorkloadPtr> elsewhere;
};

// Sorts and formats nothing: linear in the number of Workloads, some 50 ns for each.
Listing listing_of(const SchedulerState& state);

}  // namespace muster::scheduler
