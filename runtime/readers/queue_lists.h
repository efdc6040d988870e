// What the lists ask of muster's other parts: the API server about rights, the engine for a snapshot, which all
// readers of a second share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "explain/lists/queue_snapshot.h"
#include "kube/authorizer.h"
#include "runtime/engine_loop.h"
#include "server/lists_route.h"

namespace muster::runtime {

// One snapshot for all readers, made when a reader asks and the last one is older than `fresh`. Who comes while one
// is made gets the last one as long as it is not older than `stale`, and else waits for the new one: readers never cost
// the engine more than one question in that time, and none without readers. It is dropped after `kept` without a
// reader, since it keeps old versions of Workloads alive. Thread-safe.
class SharedSnapshot {
 public:
  struct Times {
    Duration fresh = std::chrono::seconds(1);
    Duration stale = std::chrono::seconds(2);
    Duration kept = std::chrono::seconds(10);
  };
  // `take` reads the engine: nullopt when it has nothing to show.
  SharedSnapshot(std::function<std::optional<explain::QueueListing>()> take, const Clock& clock)
      : SharedSnapshot(std::move(take), clock, Times()) {}
  SharedSnapshot(std::function<std::optional<explain::QueueListing>()> take, const Clock& clock, Times times)
      : take_(std::move(take)), clock_(clock), times_(times), keeper_([this] { drop_unused(); }) {}
  ~SharedSnapshot();
  SharedSnapshot(const SharedSnapshot&) = delete;
  SharedSnapshot& operator=(const SharedSnapshot&) = delete;

  // null: there is none. Never older than `stale`, and than `fresh` for who reads alone.
  std::shared_ptr<const explain::QueueSnapshot> get() EXCLUDES(mutex_);
  bool kept() const EXCLUDES(mutex_);

 private:
  void drop_unused() EXCLUDES(mutex_);

  const std::function<std::optional<explain::QueueListing>()> take_;
  const Clock& clock_;
  const Times times_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const explain::QueueSnapshot> last_ GUARDED_BY(mutex_);
  bool making_ GUARDED_BY(mutex_) = false;
  MonotonicTime fresh_until_ GUARDED_BY(mutex_){};
  MonotonicTime stale_from_ GUARDED_BY(mutex_){};
  MonotonicTime kept_until_ GUARDED_BY(mutex_){};
  bool ending_ GUARDED_BY(mutex_) = false;
  std::thread keeper_;
};

// `authorizer` and `clock` must outlive it. `loop` yields null before muster has begun to decide. `starts`: see Lister.
// `alarm`: see Leadership.
server::Lister make_lister(kube::Authorizer& authorizer, std::function<EngineLoop*()> loop, const Clock& clock,
                           std::function<std::shared_ptr<const StartEstimates>()> starts,
                           std::function<std::string()> alarm);

}  // namespace muster::runtime
