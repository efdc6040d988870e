// What became of the jobs of a Scenario: records, from which summaries and pictures are made. Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "forecast/usage_track.h"

namespace muster::forecast {

enum class Fate : uint8_t { kNotCome, kWaiting, kRunning, kFinished, kDeactivated };

inline constexpr int64_t kNever = -1;

struct JobRecord {
  int64_t first_start = kNever;   // nanoseconds since the start of the simulation
  int64_t first_placed = kNever;  // when all pods of an admission had a node
  int64_t end = kNever;
  Fate fate = Fate::kNotCome;
  uint16_t starts = 0;
  uint16_t evictions = 0;
  uint16_t preemptions = 0;  // of these
  uint16_t fallbacks = 0;    // of these
  uint16_t flavors = 0;      // of the last start; into History::flavor_sets
};

// One admission of one job.
struct Stay {
  uint32_t job;
  uint16_t flavors;
  bool ended_by_eviction = false;
  int64_t from = 0;
  int64_t placed = kNever;  // when all of its pods had a node
  int64_t to = kNever;      // kNever: it runs at the end
};

// Pods of an admitted job that have no node at the end, and why.
struct WithoutNode {
  uint32_t job = 0;
  std::string pod_set;
  int64_t pods = 0;     // without a node
  int64_t of = 0;       // pods of the pod set
  std::string message;  // as kube-scheduler says it
};

// A job was chosen as a victim of another one.
struct Preemption {
  uint32_t victim;
  uint32_t preemptor;
  int64_t at = 0;
};

// A job that has no quota at the end, and why.
struct Waiting {
  uint32_t job;
  std::string cluster_queue;
  std::string reason;   // token of QuotaReserved=False, or of the word that keeps it out
  std::string message;  // the engine's sentence
};

// What holds the quota that others wait for at the end.
struct QueueAtEnd {
  std::string cluster_queue;
  size_t pending = 0;
  std::string inactive{};              // why it admits nothing; empty: it does
  std::vector<std::string> holders{};  // "namespace/name" of Workloads with quota in its tree: the first ones
  size_t all_holders = 0;
};

struct History {
  std::vector<JobRecord> jobs;  // as Scenario::arrivals
  std::vector<Stay> stays;      // by start
  std::vector<Preemption> preemptions;
  std::vector<Waiting> waiting;
  std::vector<WithoutNode> without_node;  // by admission
  std::vector<QueueAtEnd> queues_at_end;  // those with Workloads that wait
  std::vector<std::string> flavor_sets;   // "on-demand", "cpu-only+gpu"
  // Evictions by ClusterQueue and reason ("Preempted/InClusterQueue").
  std::map<std::string, std::map<std::string, uint64_t>> evictions;
  std::map<std::string, uint64_t> deactivations;  // by reason
  UsageTracks usage;
  // Of nodes that are known, by flavor and resource; pending: pods without a node.
  UsageTracks nodes;
  Duration elapsed{};
  uint64_t steps = 0;  // moments at which something happened
  std::vector<std::string> notes;
};

}  // namespace muster::forecast
