// What the client and the servers report about themselves, as log lines. Reports come from many threads,
// and unknown clients cause them as often as they like: repetitions are counted and reported once per
// interval.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/observer.h"
#include "server/metrics/client_metrics.h"
#include "server/transport/server_events.h"

namespace muster::runtime {

// Lets the first of a kind through and then one per interval. Thread-safe.
class LogThrottle {
 public:
  explicit LogThrottle(Duration interval = std::chrono::seconds(10)) : interval_(interval) {}

  // nullopt: say nothing now. Otherwise how many were swallowed since the last one.
  std::optional<int> pass(const std::string& kind, MonotonicTime now) EXCLUDES(mutex_);

 private:
  struct Seen {
    MonotonicTime last;
    int swallowed = 0;
  };
  const Duration interval_;
  Mutex mutex_;
  std::map<std::string, Seen> seen_ GUARDED_BY(mutex_);
};

// The same for texts that others have written: each passes once in an hour, and past the first
// hundred all further ones are as one. Thread-safe.
class TextThrottle {
 public:
  static constexpr size_t kTexts = 100;
  std::optional<int> pass(const std::string& text, MonotonicTime now) EXCLUDES(mutex_);

 private:
  LogThrottle throttle_{std::chrono::hours(1)};
  Mutex mutex_;
  std::set<std::string> texts_ GUARDED_BY(mutex_);
};

class ServerLog final : public server::ServerEventSink {
 public:
  explicit ServerLog(const Clock& clock) : clock_(clock) {}
  void on_event(server::ServerEvent event, std::string_view detail) override;

 private:
  const Clock& clock_;
  LogThrottle throttle_;
};

// As log lines, and counted.
class KubeLog final : public kube::KubeObserver {
 public:
  KubeLog(const Clock& clock, server::ClientMetrics& metrics) : clock_(clock), metrics_(metrics) {}
  void request_done(std::string_view method, std::string_view host, std::string_view code, Duration latency) override;
  // Each text once in an hour, whatever request it is about.
  void warned(std::string_view method, std::string_view path, const std::string& text) override;
  void retrying(std::string_view method, std::string_view path, const std::string& why, Duration delay) override;
  void throttled(std::string_view method, std::string_view path, Duration delay) override;
  void credentials_stale(const std::string& why) override;
  void heard(const kube::Resource& resource, const std::string& selector) override;
  void listing(const kube::Resource& resource, const std::string& why) override;
  void reconnecting(const kube::Resource& resource, const std::string& why, Duration delay) override;
  void absent(const kube::Resource& resource) override;
  void objected(const kube::Resource& resource, const std::string& why) override;
  void forbidden(const kube::Resource& resource, const std::string& message) override;
  void lease_failed(const std::string& lease, const std::string& why) override;
  void event_done(kube::EventOutcome outcome, const std::string& why) override;
  // Of a reconciler. `refused`: permanently, so the object has something to do with it.
  void write_failed(const std::string& object, const std::string& why, bool refused);

 private:
  const Clock& clock_;
  server::ClientMetrics& metrics_;
  LogThrottle throttle_;
  TextThrottle warnings_;
  Mutex mutex_;
  // Kinds that are not served: looking for them again and again is no news.
  std::set<std::string> absent_ GUARDED_BY(mutex_);
};

}  // namespace muster::runtime
