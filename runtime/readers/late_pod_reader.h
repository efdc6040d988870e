// Finds out why the pods of a job are late, shortly before the job is evicted for it (waitForPodsReady, or the timeout
// of a flavor): afterwards they are deleted. One list of its pods and at most one of the Warnings of its namespace for
// each attempt, in a separate thread and over a separate client. No eviction waits for it: what is not known by
// then is not said.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/config/queue_settings.h"
#include "api/flavor_fallback.h"
#include "api/meta/object_pointers.h"
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
  // Beyond this many Workloads with late pods others get no note, and beyond this many ClusterQueues with timeouts of
  // flavors those of others are not known.
  static constexpr size_t kMostWorkloads = 20'000, kMostQueues = 10'000;
  static constexpr size_t kMostNote = 300;  // bytes

  struct Callbacks {
    // nullopt: this replica does not lead, there is no such job, or the Workload is not evicted at `end`. It can wait
    // for the engine.
    std::function<std::optional<explain::LateJob>(const ObjectKey& workload, TimePoint end)> find;
    // nullopt: nothing is wrong, or it could not be read. It can wait for the API server, for less than `time`.
    std::function<std::optional<PodReason>(const explain::LateJob& job, Duration time, std::stop_token stop)> see;
    std::function<void(ObjectEvent)> record_event;
  };
  // `settings`: nullopt: there are the timeouts of flavors alone. `clock` must outlive it.
  LatePodReader(const std::optional<WaitForPodsReady>& settings, const Clock& clock, Callbacks callbacks);
  ~LatePodReader() { stop(); }
  LatePodReader(const LatePodReader&) = delete;
  LatePodReader& operator=(const LatePodReader&) = delete;

  // Ends its thread; no callback is called after it. More than once is as once; not thread-safe.
  void stop() EXCLUDES(mutex_);

  // Events about other kinds than Workloads and ClusterQueues mean nothing here. Returns at once.
  void take_in(const engine::Event& event) EXCLUDES(mutex_);
  // The command with the reason, where it evicts a Workload for its late pods and the reason is known. Returns at once.
  std::optional<engine::Command> with_reason(const engine::Command& command) const EXCLUDES(mutex_);

 private:
  // Of a time that the pods have.
  struct End {
    TimePoint at{};
    Duration time{};  // from its beginning to its end
    bool operator==(const End&) const = default;
  };
  using Ends = std::vector<End>;  // the earliest first
  struct Waiting {
    WorkloadPtr workload{};  // the last version
    Ends ends{};
    TimePoint end{};  // the one before which the pods are read, or were read; zero: none
    TimePoint due{};
    std::string note{};
    std::string told{};  // the token of the last Event: one for each change
  };
  using Name = std::pair<std::string, std::string>;  // namespace, name

  void put(const TypedObject& object) REQUIRES(mutex_);
  void put(const WorkloadPtr& workload) REQUIRES(mutex_);
  void put(const ClusterQueue& queue) REQUIRES(mutex_);
  void put_list(const engine::KindListed& list) REQUIRES(mutex_);
  // Whether they are others than before.
  bool set_rules(const std::string& queue, const std::optional<FallbackStrategy>& rules) REQUIRES(mutex_);
  // Of the Workloads with quota in this ClusterQueue; empty: of all.
  void find_ends_again(std::string_view queue) REQUIRES(mutex_);
  Ends ends_of(const Workload& workload) const REQUIRES(mutex_);
  void set_ends(const Name& name, Waiting& waiting, Ends ends) REQUIRES(mutex_);
  // The next read is before the first end after this time.
  void plan_read(const Name& name, Waiting& waiting, TimePoint after) REQUIRES(mutex_);
  void forget(const Name& name) REQUIRES(mutex_);
  void run(const std::stop_token& stop) EXCLUDES(mutex_);
  std::optional<std::pair<Name, TimePoint>> next(const std::stop_token& stop) EXCLUDES(mutex_);
  void read(const Name& name, TimePoint end, const std::stop_token& stop) EXCLUDES(mutex_);

  const std::optional<WaitForPodsReady> settings_;
  const Clock& clock_;
  const Callbacks callbacks_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, FallbackStrategy, std::less<>> rules_ GUARDED_BY(mutex_);  // by ClusterQueue
  std::map<Name, Waiting> waiting_ GUARDED_BY(mutex_);
  std::set<std::pair<TimePoint, Name>> due_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

// At most 2,000 pods of the job, in pages, and as many Warnings of its namespace. It ends before `time` has passed; the
// pods that were read by then count.
std::optional<PodReason> see_late_pods(kube::KubeApi& api, const explain::LateJob& job, Duration time,
                                       const Clock& clock, std::stop_token stop);

// `loop` yields null before muster has begun to decide. All that it is given must outlive its thread.
std::unique_ptr<LatePodReader> make_late_pod_reader(const std::optional<WaitForPodsReady>& settings, kube::KubeApi& api,
                                                    std::function<EngineLoop*()> loop,
                                                    std::function<void(ObjectEvent)> record_event, const Clock& clock);

}  // namespace muster::runtime
