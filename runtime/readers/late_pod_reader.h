// Finds out why the pods of a job are late, shortly before the job is evicted for it (waitForPodsReady): afterwards
// they are deleted. One list of its pods and at most one of the Warnings of its namespace for each attempt, in a
// separate thread and over a separate client. No eviction waits for it: what is not known by then is not said.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "api/config/queue_settings.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "engine/events.h"
#include "explain/late_pods.h"
#include "kube/api.h"
#include "runtime/engine_loop.h"

namespace muster::runtime {

// Thread-safe.
class LatePodReader {
 public:
  // How long before the end of the time the pods are read: a quarter of it at most.
  static constexpr Duration kBefore = std::chrono::seconds(10);
  // Beyond this many Workloads with late pods others get no note.
  static constexpr size_t kMostWorkloads = 20'000;
  static constexpr size_t kMostNote = 300;  // bytes

  struct Callbacks {
    // nullopt: this replica does not lead, or there is no such job. It can wait for the engine.
    std::function<std::optional<explain::LateJob>(const ObjectKey& workload)> find;
    // nullopt: nothing is wrong, or it could not be read. It can wait for the API server.
    std::function<std::optional<PodReason>(const explain::LateJob& job, std::stop_token stop)> see;
    std::function<void(ObjectEvent)> tell;
  };
  // `clock` must outlive it.
  LatePodReader(const WaitForPodsReady& settings, const Clock& clock, Callbacks callbacks);
  ~LatePodReader() { stop(); }
  LatePodReader(const LatePodReader&) = delete;
  LatePodReader& operator=(const LatePodReader&) = delete;

  // Ends its thread; no callback is called after it. More than once is as once; not thread-safe.
  void stop() EXCLUDES(mutex_);

  // Events about other kinds than Workloads mean nothing here. Returns at once.
  void take_in(const engine::Event& event) EXCLUDES(mutex_);
  // The command with the reason, where it evicts a Workload for its late pods and the reason is known. Returns at once.
  std::optional<engine::Command> with_reason(const engine::Command& command) const EXCLUDES(mutex_);

 private:
  struct Waiting {
    TimePoint end{};  // of the time that the pods have; zero: none runs
    TimePoint due{};
    std::string note{};
    std::string told{};  // the token of the last Event: one for each change
  };
  using Name = std::pair<std::string, std::string>;  // namespace, name

  void put(const Workload& workload) REQUIRES(mutex_);
  void forget(const Name& name) REQUIRES(mutex_);
  void run(const std::stop_token& stop) EXCLUDES(mutex_);
  std::optional<std::pair<Name, TimePoint>> next(const std::stop_token& stop) EXCLUDES(mutex_);
  void read(const Name& name, TimePoint end, const std::stop_token& stop) EXCLUDES(mutex_);

  const WaitForPodsReady settings_;
  const Clock& clock_;
  const Callbacks callbacks_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<Name, Waiting> waiting_ GUARDED_BY(mutex_);
  std::set<std::pair<TimePoint, Name>> due_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

// `loop` yields null before muster has begun to decide. All that it is given must outlive its thread.
std::unique_ptr<LatePodReader> make_late_pod_reader(const WaitForPodsReady& settings, kube::KubeApi& api,
                                                    std::function<EngineLoop*()> loop,
                                                    std::function<void(ObjectEvent)> tell, const Clock& clock);

}  // namespace muster::runtime
