// Writes Events (events.k8s.io/v1) about objects, in the background: one thread, a bounded queue and a bounded rate.
// Events are best effort: no code waits for one, and Events that cannot be written are counted and dropped, oldest
// first.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "api/meta/object_event.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "kube/events/event_series.h"
#include "kube/observer.h"
#include "kube/transport/throttle.h"
#include "kube/transport/timing.h"

namespace muster::kube {

const Resource& events();

// The namespace that holds Events about this object: its own, or "default".
std::string event_namespace(const ObjectReference& about);
// The Event as it is created; texts are cut to what the API server accepts.
nlohmann::json event_body(const EventRecord& record, const EventOptions& options);
// The merge patch that brings its series up to date.
nlohmann::json series_patch(const EventRecord& record);

class EventRecorder {
 public:
  // Past this many waiting events the oldest are dropped.
  static constexpr size_t kMaxQueued = 1000;
  // Requests, retries among them: an admitted Workload is worth three Events, and a
  // thousand of them at once must not cost the API server what their admission needs.
  static constexpr RateLimit kRate{.per_second = 50, .burst = 500};
  // A slow answer means that the API server is busy: no Event is sent for this multiple of its duration, at most
  // kRetryPeriod.
  static constexpr int kYield = 3;
  // One event is tried this often while the API server does not answer.
  static constexpr int kMaxTries = 12;
  static constexpr Duration kRetryPeriod = std::chrono::seconds(10);
  // At the end, what still waits (unfinished series too) is written for at most this long.
  static constexpr Duration kLastWords = std::chrono::seconds(2);

  // Starts at once. Everything given by reference must outlive the recorder.
  EventRecorder(KubeApi& api, EventOptions options, KubeObserver& observer, Timing timing);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // Thread-safe; returns at once. The observer gets its outcome.
  void record(ObjectEvent event) EXCLUDES(mutex_);

 private:
  struct Waiting {
    ObjectEvent event;
    Now when;
  };

  void run(std::stop_token stop);
  std::optional<Waiting> next() EXCLUDES(mutex_);
  void sleep_until_due(std::stop_token stop) EXCLUDES(mutex_);
  void handle(Waiting waiting, std::stop_token stop);
  void create(const EventRecord& record, std::stop_token stop);
  void patch(const EventRecord& record, std::stop_token stop);
  // Drops what waits for a namespace that is gone: the API server takes its time to refuse each of them, and the Events
  // of all other namespaces would wait behind them.
  void forget_namespace(const std::string& ns) EXCLUDES(mutex_);
  KubeApi::Answer send(KubeRequest request, std::stop_token stop);
  // Waits until one more request can be sent. False: the end comes first.
  bool await_turn(std::stop_token stop);
  KubeApi::Answer send_once(const KubeRequest& request, std::stop_token stop);
  void tell(const KubeApi::Answer& answer, EventOutcome done);
  void say_last_words();

  KubeApi& api_;
  const EventOptions options_;
  KubeObserver& observer_;
  const Timing timing_;

  // Of the thread.
  EventCorrelator correlator_;
  Throttle throttle_{kRate};
  MonotonicTime yields_until_{};
  std::vector<KubeRequest> unsent_;                // cut short by the end
  std::optional<MonotonicTime> last_words_until_;  // set at the end

  Mutex mutex_;
  std::deque<Waiting> queue_ GUARDED_BY(mutex_);
  std::stop_source wake_ GUARDED_BY(mutex_);

  std::jthread thread_;  // last, so that it ends before the rest
};

}  // namespace muster::kube
