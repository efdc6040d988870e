// The simulation itself; see run.h.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "forecast/pod_places.h"
#include "forecast/run.h"
#include "forecast/timetable.h"
#include "reconcilers/reconciler.h"
#include "scheduler/eligibility.h"

namespace muster::forecast {

class Runner {
 public:
  Runner(const Scenario& scenario, const Watcher& watcher, const Looks& looks);
  History run();

 private:
  // A job that has come and is not over.
  struct Live {
    WorkloadPtr workload;
    uint32_t epoch = 0;              // one more with each start and stop
    int64_t wake_at = -1;            // the pass that is planned
    int64_t started = 0;             // when its pods were ready, or will be; kFar: some have no node
    std::optional<Duration> left{};  // of its run time
    size_t stay = 0;
    bool waits = true;  // counted among the pending
    bool running = false;
    bool stopping = false;
    bool checking = false;
    bool fails = false;                               // its pods never get ready
    std::vector<std::pair<size_t, int64_t>> usage{};  // slots and amounts that it holds
  };

  Now now() const;
  reconcilers::ReconcileContext context() const;
  Timestamp stamp() const { return to_timestamp(now().wall); }
  std::optional<int64_t> next() const;
  void begin();
  void take_arrivals();
  void take_due();
  void take(const DueEvent& due);
  void settle();
  void note_preemption(uint32_t victim, const state::PendingDecision& decision);
  void finish();

  // Jobs (runner_jobs.cpp).
  void come(uint32_t job);
  WorkloadPtr made(const Arrival& arrival) const;
  void put(uint32_t job, Live& live, Workload workload);
  void put_status(uint32_t job, Live& live, WorkloadStatus status);
  // Whatever follows for it by itself: passes, a start, a stop, its end.
  void advance(uint32_t job);
  bool pass(uint32_t job, Live& live);
  void start(uint32_t job, Live& live);
  void stop(uint32_t job, Live& live);
  void await_checks(uint32_t job, Live& live);
  void answer_checks(uint32_t job, Live& live);
  void get_ready(uint32_t job, Live& live);
  // All of its pods have a node.
  void run_pods(uint32_t job, Live& live);
  void fill_nodes();
  void release(uint32_t job, Live& live);
  void end(uint32_t job, Live& live);
  void forget(uint32_t job, Fate fate);
  bool fails(uint32_t job, const JobRecord& record, const std::vector<std::string>& flavors) const;
  void note_quota(Live& live);
  void note_eviction(uint32_t job, const Workload& before, const Workload& after);
  bool awaits_pods(const Workload& workload) const;
  uint16_t flavor_set(const std::vector<std::string>& flavors);
  void describe_waiting();
  void describe_queues();

  const Scenario& scenario_;
  const Watcher& watcher_;
  const Looks& looks_;
  state::ClusterState state_;
  const std::unique_ptr<scheduler::NodeTable> nodes_;  // null: no flavor counts nodes
  state::SchedulerDriver decisions_;
  Timetable timetable_;
  History history_;
  const std::unique_ptr<NodeReports> reports_;  // null as nodes_
  PodPlaces places_;
  std::unordered_map<uint32_t, std::unique_ptr<Live>> live_;
  std::unordered_map<std::string, uint32_t> by_path_;
  std::unordered_map<std::string, uint16_t> flavor_sets_;
  std::deque<uint32_t> changed_;  // to be advanced
  size_t come_ = 0;               // arrivals
  size_t over_ = 0;
  int64_t elapsed_ = 0;
  int64_t next_look_ = 0;
  int64_t elsewhere_ = 0;  // pods that run already, and for which the nodes of the input have no room
  uint64_t version_ = 0;
  bool endless_ = false;
};

}  // namespace muster::forecast
