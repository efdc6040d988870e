// Keeps a picture of one kind of object current: lists it, watches it, and repairs
// the picture when the network or the server loses the thread.
//
// Source: client-go tools/cache/reflector.go; Kubernetes API concepts, "Watch bookmarks".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "kube/api.h"
#include "kube/observer.h"
#include "kube/transport/timing.h"
#include "kube/watch_policy.h"

namespace muster::kube {

enum class WatchChange { kAdded, kModified, kDeleted };

// Receives what a watch sees, always on the watch's own thread, in the server's
// order. Objects carry apiVersion and kind as Resource::kind says, and are gone when
// the call returns: keep facts, not the object.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // A full list begins. It can begin again before it is complete: forget its start.
  // Until on_replaced the previous picture holds.
  virtual void on_list_started() = 0;
  virtual void on_listed(const nlohmann::json& object) = 0;
  // The list is complete: what it brought is everything there is, the rest is gone.
  virtual void on_replaced(const std::string& version) = 0;
  // The API server does not serve the kind; known objects stay unchanged.
  virtual void on_absent() = 0;
  // All objects that the API server had at the call of catch_up(term) have been delivered.
  virtual void on_caught_up(uint64_t term) = 0;
  // One change since. A deleted object comes in its last state.
  virtual void on_event(WatchChange change, const nlohmann::json& object) = 0;
};

// The objection to a kind as the API server serves it now; empty: none. Called on the watch's thread.
using KindCheck = std::function<Result<std::string, StatusError>(std::stop_token stop)>;

// One watch, one thread. It lists (paged, consistent), then watches from there with bookmarks for 5 to 10 minutes at a
// time, in a loop:
// - when a watch ends or breaks, it resumes after the last event or bookmark;
// - on 410 Gone, in HTTP or in the stream, it lists again, at most once a second;
// - a 404 counts when the discovery documents have said twice in a row that the kind is
//   not served; it is then reported as absent, and checked every 30 s;
// - any other answer that is not what was asked for (a proxy's page, half a list) changes
//   nothing of the picture;
// - a kind to which its check objects, before a list or between two streams, is reported as absent, and checked every
// 30
//   s;
// - a missing permission (403) is reported to the observer, and retried until granted;
// - what fails, or ends at once without news, is repeated 0.8 s to 30 s later.
class Watch {
 public:
  // Starts at once, as after catch_up(term) unless that is 0. The sink is called from then on until
  // the destructor has returned; everything given by reference must outlive the watch.
  Watch(KubeApi& api, Resource resource, Selection selection, WatchSink& sink, KubeObserver& observer, Timing timing,
        uint64_t term = 0, KindCheck check = {});
  // Stops and waits for the thread: milliseconds, plus a sink's call under way.
  ~Watch() = default;

  // Without waiting: to stop many watches at once, ask all before destroying any.
  void request_stop() { thread_.request_stop(); }
  // Asks for proof that nothing was missed: a stream that is open, or a wait for the next one, is
  // cut short, and a short one resumes after the last event; its bookmark, or its end in good order,
  // comes after all that the API server held when it began. So it does not matter whether the old
  // stream was alive. Terms only grow. Any thread.
  void catch_up(uint64_t term) EXCLUDES(mutex_);
  // Whether the first full list has come, or the kind is known not to be served.
  // Never becomes false again. Any thread.
  bool synced() const { return synced_; }
  const Resource& resource() const { return resource_; }

 private:
  void run(std::stop_token stop);
  std::optional<WatchAttempt> ask_check(std::stop_token stop);  // nullopt: it can go on
  std::optional<WatchAttempt> list(std::stop_token stop);       // nullopt: complete
  WatchAttempt watch(std::stop_token stop);
  // One line of the stream; false when the watch cannot go on.
  bool take_frame(std::string_view frame, WatchAttempt& attempt);
  void take_error(const StatusError& error, WatchAttempt& attempt);
  // Of the next attempt: stopped by `stop`, and by catch_up().
  std::stop_source begin_attempt() EXCLUDES(mutex_);
  void caught_up();
  void tell(const WatchAttempt& attempt, const WatchNext& next);
  WatchEnd look_for_kind(std::stop_token stop);
  void found_absent();
  void found_objection();
  void heard();
  void stamp(nlohmann::json& object) const;

  KubeApi& api_;
  const Resource resource_;
  const Selection selection_;
  WatchSink& sink_;
  KubeObserver& observer_;
  const Timing timing_;
  const KindCheck check_;  // can be empty
  std::atomic<bool> synced_ = false;

  mutable Mutex mutex_;
  uint64_t asked_term_ GUARDED_BY(mutex_);
  std::stop_source attempt_ GUARDED_BY(mutex_);

  // Of the watch's thread.
  WatchPolicy policy_;
  std::string version_;  // resume after this; empty: list first
  std::string why_;      // the last attempt ended; empty when in good order
  int absences_ = 0;     // reported by discovery in a row
  bool told_absent_ = false;
  std::string objection_;  // of the check, as reported
  bool told_forbidden_ = false;
  uint64_t term_ = 0;            // asked for when the attempt began
  uint64_t caught_up_with_ = 0;  // as reported

  std::jthread thread_;  // last, so that it ends before the rest
};

}  // namespace muster::kube
