// The age of muster's data of each kind: the time since the last list, event or bookmark from the API server (a
// bookmark arrives about once a minute, also without changes).
#pragma once

#include <prometheus/collectable.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace muster::server {

// Thread-safe. Shown as muster_watch_age_seconds{resource}.
class WatchAges final : public prometheus::Collectable {
 public:
  // A picture this old is worth a word in an answer: two bookmarks are missing.
  static constexpr Duration kWorthAWord = std::chrono::minutes(3);
  // And this old makes muster unready. Longer than the longest watch, so that a server without
  // bookmarks is no reason.
  static constexpr Duration kTooOld = std::chrono::minutes(12);

  // `clock` must outlive it.
  explicit WatchAges(const Clock& clock) : clock_(clock) {}

  // Of one watch of a kind; `resource` as in "jobs.batch".
  void heard(const std::string& resource, const std::string& watch) EXCLUDES(mutex_);
  // By resource; of several watches the oldest age.
  std::map<std::string, Duration> ages() const EXCLUDES(mutex_);
  // Why muster cannot be ready; empty: it can.
  std::string too_old() const;
  // Sentences for answers of explain: which data are old.
  std::vector<std::string> notes() const;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, MonotonicTime> heard_ GUARDED_BY(mutex_);
};

}  // namespace muster::server
