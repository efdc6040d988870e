// Keeps estimates of when pending Workloads start (forecast/starts), and what they are made from: how long Workloads
// have run and how often they came, observed while muster runs. Everything lives in the memory of one replica.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "api/config/queue_settings.h"
#include "api/start_estimate.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "forecast/starts/start_estimator.h"
#include "runtime/engine_loop.h"

namespace muster::runtime {

// Thread-safe. A separate thread, which the kernel runs when nothing else wants the processor, makes new estimates
// once in each interval. It asks the engine twice for that: for pointers to all Workloads that are not finished, and
// for those that have finished since. A leader rests longer.
class StartRecorder {
 public:
  struct Times {
    Duration interval = std::chrono::seconds(10);
    Duration until_first = std::chrono::seconds(1);
    // Of a core at most, on average.
    double share = 0.2;
    double share_of_leader = 0.02;
    // CPU seconds of one round of estimates.
    double budget = 2;
    // A round keeps the versions of Workloads in memory that it began with. If the thread gets no processor for so
    // long, it ends with the courses that it has.
    Duration longest = std::chrono::seconds(60);
    // The thread gives way to all others of the machine. Not for tests, which wait for it on a busy one.
    bool gives_way = true;
  };
  using Look = std::function<void(const state::ClusterState& state, const state::SchedulerDriver& decisions,
                                  const QueueSettings& settings, bool leads)>;
  // Lets a caller look at the engine; false: it has nothing to show. Must outlive the recorder, as the clock.
  using Ask = std::function<bool(const Look& look)>;

  StartRecorder(Ask ask, const Clock& clock) : StartRecorder(std::move(ask), clock, Times()) {}
  StartRecorder(Ask ask, const Clock& clock, Times times);
  ~StartRecorder();
  StartRecorder(const StartRecorder&) = delete;
  StartRecorder& operator=(const StartRecorder&) = delete;

  // null: there are none yet.
  std::shared_ptr<const StartEstimates> latest() const EXCLUDES(mutex_);

 private:
  // What thread_ owns.
  struct Round {
    std::optional<QueueSettings> settings{};
    starts::QueueHistory history{};
    // By "namespace/name", of the last round. A hash of the uid: a wrong match costs an observation.
    struct Known {
      uint64_t uid = 0;
      bool is_there = true;
    };
    std::unordered_map<std::string, Known> unfinished{};
  };
  void record() EXCLUDES(mutex_);
  // CPU seconds that it took, and whether this replica leads; nullopt: the engine has nothing to show.
  struct Took {
    double seconds = 0;
    bool leads = false;
  };
  std::optional<Took> make(Round& round) EXCLUDES(mutex_);
  bool observe(Round& round, const starts::StartScene& scene);
  bool ending() const EXCLUDES(mutex_);

  const Ask ask_;
  const Clock& clock_;
  const Times times_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const StartEstimates> latest_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// `loop` yields null before muster has begun to decide.
std::shared_ptr<StartRecorder> make_start_recorder(std::function<EngineLoop*()> loop, const Clock& clock);

}  // namespace muster::runtime
