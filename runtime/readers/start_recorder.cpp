#include "runtime/readers/start_recorder.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <exception>
#include <limits>

#include "api/meta/object_meta.h"
#include "base/fnv.h"
#include "runtime/log.h"
#include "runtime/log_observers.h"

namespace muster::runtime {
namespace {

// Of the Workloads that had finished before muster began.
constexpr size_t kMostFinished = 5000;

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace

StartRecorder::StartRecorder(Ask ask, const Clock& clock, Times times)
    : ask_(std::move(ask)), clock_(clock), times_(times), thread_([this] { record(); }) {}

StartRecorder::~StartRecorder() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<const StartEstimates> StartRecorder::latest() const {
  const MutexLock lock(mutex_);
  return latest_;
}

bool StartRecorder::ending() const {
  const MutexLock lock(mutex_);
  return ending_;
}

void StartRecorder::record() {
  // If the kernel refuses this, the thread runs with normal priority.
  const sched_param none{};
  if (times_.gives_way) pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
  Round round;
  LogThrottle throttle(std::chrono::minutes(10));
  for (;;) {
    std::optional<Took> took;
    // An estimate is worth less than the process.
    try {
      took = make(round);
    } catch (const std::exception& thrown) {
      if (const auto repeated = throttle.pass("starts", clock_.now().monotonic))
        log_error("estimates of starts cannot be made; everything else continues",
                  {{"why", thrown.what()}, {"repeated", *repeated}});
      round = Round();
      took = Took{};
      const MutexLock lock(mutex_);
      latest_.reset();
    }
    Duration rest = took ? times_.interval : times_.until_first;
    if (took) {
      const double share = took->leads ? times_.share_of_leader : times_.share;
      rest = std::max(rest, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(took->seconds / share)));
    }
    const MutexLock lock(mutex_);
    const MonotonicTime next = clock_.now().monotonic + rest;
    while (!ending_ && clock_.now().monotonic < next) changed_.wait_until(mutex_, next);
    if (ending_) return;
  }
}

std::optional<StartRecorder::Took> StartRecorder::make(Round& round) {
  const double began = cpu_seconds();
  const Now now = clock_.now();
  std::optional<starts::StartScene> scene;
  std::vector<starts::FinishedRun> before;
  const bool asked = ask_([&](const state::ClusterState& state, const state::SchedulerDriver& decisions,
                              const QueueSettings& settings, bool leads) {
    if (!round.settings) {
      before = starts::finished_before(state, settings, kMostFinished);
      round.settings = settings;
    }
    scene = starts::take_start_scene(state, decisions, settings, leads, now);
  });
  if (!asked || !scene) return std::nullopt;
  for (const starts::FinishedRun& run : before) round.history.run_times.note(run);
  if (!observe(round, *scene)) return std::nullopt;
  starts::EstimateOptions options;
  options.budget = times_.budget;
  // A process that ends does not wait for estimates.
  options.cpu_seconds = [this, end = now.monotonic + times_.longest] {
    const bool stops = ending() || clock_.now().monotonic > end;
    return stops ? std::numeric_limits<double>::infinity() : cpu_seconds();
  };
  const bool leads = scene->leads;
  auto made = std::make_shared<const StartEstimates>(
      starts::estimate_starts(*std::move(scene), round.history, *round.settings, options));
  const MutexLock lock(mutex_);
  latest_ = std::move(made);
  return Took{.seconds = cpu_seconds() - began, .leads = leads};
}

// Workloads that arrived, and Workloads that finished, since the last round.
bool StartRecorder::observe(Round& round, const starts::StartScene& scene) {
  const Timestamp at = to_timestamp(scene.now.wall);
  round.history.arrivals.begin(at);
  for (auto& [path, known] : round.unfinished) known.is_there = false;
  scene.for_each_workload([&](const WorkloadPtr& workload) {
    const Round::Known now_there{.uid = fnv1a_64(workload->meta.uid)};
    const auto [known, is_new] = round.unfinished.try_emplace(path_of(workload->meta), now_there);
    if (is_new || known->second.uid != now_there.uid) round.history.arrivals.note(workload, at);
    known->second = now_there;
  });
  starts::Unfinished left;
  std::erase_if(round.unfinished, [&](const auto& each) {
    const auto& [path, known] = each;
    const size_t slash = path.find('/');
    if (!known.is_there) left.emplace_back(path.substr(0, slash), path.substr(slash + 1));
    return !known.is_there;
  });
  if (left.empty()) return true;
  std::vector<starts::FinishedRun> runs;
  const bool asked =
      ask_([&](const state::ClusterState& state, const state::SchedulerDriver&, const QueueSettings& settings, bool) {
        runs = starts::finished_among(left, state, settings);
      });
  for (const starts::FinishedRun& run : runs) round.history.run_times.note(run);
  return asked;
}

std::shared_ptr<StartRecorder> make_start_recorder(std::function<EngineLoop*()> loop, const Clock& clock) {
  return std::make_shared<StartRecorder>(
      [loop = std::move(loop)](const StartRecorder::Look& look) {
        EngineLoop* deciding = loop();
        return deciding != nullptr && deciding->ask([&](const engine::Engine& engine) {
          look(engine.state(), engine.decisions(), engine.queue_settings(), engine.leads());
        });
      },
      clock);
}

}  // namespace muster::runtime
