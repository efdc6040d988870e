// One course of the queues from a moment on: run times are drawn, Workloads end, others come as often as they did, and
// the product's scheduler decides what starts then. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "forecast/chance.h"
#include "forecast/starts/arrival_rates.h"
#include "forecast/starts/start_scene.h"
#include "scheduler/scheduler.h"
#include "state/quota_demand.h"
#include "state/scheduler_driver.h"

namespace muster::starts {

// What was observed of the queues.
struct QueueHistory {
  RunTimes run_times;
  ArrivalRates arrivals;
};

// A scene that is made ready once, for many courses.
class PreparedScene {
 public:
  // Points into both, which must outlive it.
  PreparedScene(const StartScene& scene, const QueueHistory& history, const QueueSettings& settings);

  struct Member {
    WorkloadPtr workload;
    state::QuotaDemand demand;
    RunTimeGuess run_time;
    uint32_t tree = 0;        // of Cohorts, or a ClusterQueue by itself
    double gone = 0;          // seconds that it has run for
    bool holds = false;       // quota; otherwise it waits
    bool leaves = false;      // it is being stopped
    bool stopped = false;     // its ClusterQueue admits nothing
    int64_t comes_after = 0;  // ns: it backs off
    WorkloadPtr released{};   // a holder as it waits after an eviction; see release()
  };
  // Workloads that will come.
  struct Stream {
    WorkloadPtr example;
    state::QuotaDemand demand;
    RunTimeGuess run_time;
    double per_second = 0;
  };
  const StartScene& scene() const { return scene_; }
  // Of trees in which something waits.
  const std::vector<Stream>& streams() const { return streams_; }
  const std::vector<Member>& members() const { return members_; }
  const scheduler::SchedulerSettings& settings() const { return scheduler_settings_; }
  // LimitRanges and RuntimeClasses.
  const state::ClusterState& defaults() const { return defaults_; }
  size_t trees() const { return trees_; }
  // As it waits again after an eviction. Not thread-safe.
  const Member& release(uint32_t member) const;

 private:
  uint32_t tree_of(const scheduler::ListedClusterQueue& queue);
  void add(const scheduler::ListedClusterQueue& queue, const WorkloadPtr& workload, bool holds);
  void add_streams(const ArrivalRates& arrivals);
  static WorkloadPtr as_waiting(const Workload& workload);

  const StartScene& scene_;
  const RunTimes& run_times_;
  const QueueSettings& settings_;
  std::vector<Stream> streams_;
  scheduler::SchedulerSettings scheduler_settings_;
  state::ClusterState defaults_;  // LimitRanges and RuntimeClasses; no Workloads
  mutable std::vector<Member> members_;
  std::unordered_map<std::string, std::string> parents_;  // of Cohorts
  std::unordered_map<std::string, uint32_t> tree_ids_;
  size_t trees_ = 0;
};

struct CourseLimits {
  Duration horizon{};
  // Asked now and then: whether to go on.
  std::function<bool()> may_go_on{};
};

inline constexpr int64_t kNoStart = std::numeric_limits<int64_t>::max();

struct Course {
  // By member, of those that wait: ns from now to the first start; kNoStart: it did not start.
  std::vector<int64_t> starts;
  // Nothing was left to happen; otherwise the horizon was reached, or may_go_on said no.
  bool ended = false;
  Duration reached{};  // until when it is complete
};
Course run_course(const PreparedScene& prepared, uint64_t seed, uint64_t number, const CourseLimits& limits);

}  // namespace muster::starts
