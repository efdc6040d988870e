// Keys that each count until an end time. They are forgotten afterwards also without a further query: each insertion
// drops the keys that have ended long before.
#pragma once

#include <map>
#include <optional>

#include "base/clock.h"

namespace muster {

// Not thread-safe: its owner locks.
template <class Key>
class ExpiringSet {
 public:
  // A key is kept until one is added whose time ends `kept` later: at least as long as keys count, so
  // that none is dropped before its time.
  explicit ExpiringSet(Duration kept) : kept_(kept) {}

  void put(const Key& key, MonotonicTime until) {
    std::erase_if(times_, [&](const auto& entry) { return entry.second + kept_ < until; });
    times_[key] = until;
  }
  // When it ends, or has ended; nullopt: it is not there.
  std::optional<MonotonicTime> until(const Key& key) const {
    const auto found = times_.find(key);
    return found == times_.end() ? std::nullopt : std::optional(found->second);
  }
  bool holds(const Key& key, MonotonicTime now) const {
    const auto end = until(key);
    return end && now < *end;
  }
  void erase(const Key& key) { times_.erase(key); }
  bool empty() const { return times_.empty(); }
  size_t size() const { return times_.size(); }

 private:
  Duration kept_;
  std::map<Key, MonotonicTime> times_;
};

}  // namespace muster
