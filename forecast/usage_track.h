// Amounts that change in time, kept as averages over equal spans, of which there are always few: when the time is
// longer than they reach, two become one. Memory does not depend on how long a simulation runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"

namespace muster::forecast {

inline constexpr double kSecond = 1e9;  // ns
inline constexpr size_t kMostSpans = 512;
inline constexpr int64_t kFirstSpan = 60'000'000'000;  // ns

// One amount.
class Track {
 public:
  // From `at` on it is `amount` more. `at` never goes back; `width` as of all tracks.
  void add(int64_t at, int64_t width, int64_t amount);
  // Two spans become one.
  void halve();
  // The last value holds until then.
  void close(int64_t at, int64_t width) { add(at, width, 0); }

  int64_t now() const { return now_; }
  int64_t most() const { return most_; }
  // Amount times seconds.
  double area() const { return area_; }
  // Average of each span that was begun.
  std::vector<double> averages(int64_t width, int64_t end) const;

 private:
  int64_t now_ = 0;
  int64_t most_ = 0;
  int64_t since_ = 0;
  double area_ = 0;
  std::vector<double> areas_;  // of each span, amount times seconds
};

struct QuotaSlot {
  std::string cluster_queue, flavor, resource;
  bool operator<(const QuotaSlot& other) const {
    return std::tie(cluster_queue, flavor, resource) < std::tie(other.cluster_queue, other.flavor, other.resource);
  }
};

// Usage of all quotas, and the number of Workloads that wait.
class UsageTracks {
 public:
  size_t slot(const QuotaSlot& slot);
  void add(size_t slot, int64_t at, int64_t amount);
  void add_pending(int64_t at, int64_t amount);
  // The end of time: all tracks reach until there.
  void close(int64_t at);

  int64_t width() const { return width_; }  // of a span, ns
  int64_t end() const { return end_; }
  const std::vector<QuotaSlot>& slots() const { return slots_; }
  const Track& track(size_t slot) const { return tracks_[slot]; }
  const Track& pending() const { return pending_; }

 private:
  void reach(int64_t at);

  int64_t width_ = kFirstSpan;
  int64_t end_ = 0;
  std::map<QuotaSlot, size_t> index_;
  std::vector<QuotaSlot> slots_;
  std::vector<Track> tracks_;
  Track pending_;
};

}  // namespace muster::forecast
