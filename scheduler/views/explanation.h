// Why a Workload waits, with the numbers: what `muster explain` says about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::scheduler {

struct SchedulerState;

// One flavor for one resource of one pod set, as it is now.
struct FlavorRow {
  std::string pod_set;
  std::string flavor;  // empty: the ClusterQueue has no quota for the resource
  std::string resource;
  int64_t requested = 0;  // by all pods of it and of the pod sets before it
  int64_t free = 0;       // unused and within reach of the ClusterQueue
  int64_t nominal = 0;    // of the ClusterQueue
  int64_t most = 0;       // its maximum if no other queue used quota
  // Its pods can run there at all: the flavor exists, with no taint or label against it.
  bool suitable = true;
  enum class Why { kOther, kTaint, kAffinity, kFailed } why = Why::kOther;  // unless suitable
  std::string verdict;                                                      // a sentence
  // What the last evaluation has found short beside quota, as room on nodes; empty: nothing.
  std::string shortage{};

  bool fits() const { return suitable && requested <= free; }
  bool could_fit() const { return suitable && requested <= most; }
};

struct SchedulerView {
  std::string cluster_queue;
  // Kueue's token of QuotaReserved=False; "" before the first evaluation, and always on a replica that makes no
  // decisions (a follower).
  std::string reason;
  std::string message;  // a sentence
  std::string outlook;  // the change that would help; a sentence
  // Every flavor that the ClusterQueue has for a resource, for each pod set and resource.
  std::vector<FlavorRow> flavors;
  bool strict = false;               // no Workload can pass the head of the queue
  size_t position = 0;               // in the ClusterQueue's queue, from 0
  std::vector<std::string> ahead{};  // "namespace/name" of the first ones before it
};

// nullopt: it is unknown, or not pending.
std::optional<SchedulerView> explain_pending(const SchedulerState& state, const std::string& ns,
                                             const std::string& name);

}  // namespace muster::scheduler
