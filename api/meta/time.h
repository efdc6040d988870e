// Instants and durations as Kubernetes objects hold them: metav1.Time (whole
// seconds), metav1.MicroTime (exactly six digits) and metav1.Duration (Go syntax).
// Errors read as Go's time package words them. Pure functions; no clock here.
#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace muster {

// An instant of the years 0 to 9999, which do not fit the 64-bit nanoseconds of a
// TimePoint. The default is Go's zero time, 0001-01-01T00:00:00Z: "not set".
struct Timestamp {
  static constexpr int64_t kZeroSeconds = -62'135'596'800;

  int64_t seconds = kZeroSeconds;  // since 1970, rounded down
  int32_t nanoseconds = 0;         // 0 to 999,999,999

  bool is_zero() const { return seconds == kZeroSeconds && nanoseconds == 0; }
  auto operator<=>(const Timestamp&) const = default;
};

Timestamp to_timestamp(TimePoint time);
// Without the fraction of a second, which a Time does not store.
Timestamp whole_seconds(TimePoint time);
// The years 1677 to 2262 exactly; anything outside becomes the nearest end.
TimePoint to_time_point(Timestamp time);
// At most 146 years, also from a time that is not set, so that other times can be added to it.
Duration time_between(TimePoint from, TimePoint to);

// RFC 3339 with any fraction of a second, as Time is read: "2026-01-01T00:00:00Z".
Result<Timestamp> parse_rfc3339(std::string_view text);
// RFC 3339 with exactly six fractional digits, as MicroTime is read.
Result<Timestamp> parse_rfc3339_micro(std::string_view text);
// In UTC. Time drops the fraction, MicroTime what is below a microsecond.
std::string format_rfc3339(Timestamp time);
std::string format_rfc3339_micro(Timestamp time);

// The same from and to JSON; the zero time is null.
Result<Timestamp> parse_time(const nlohmann::json& value);
Result<Timestamp> parse_micro_time(const nlohmann::json& value);
nlohmann::json time_to_json(Timestamp time);
nlohmann::json micro_time_to_json(Timestamp time);

// Go's syntax: "1h30m", "1.5s", "-2us"; units h, m, s, ms, us (or µs), ns. A number
// without a unit is refused unless it is 0. In JSON, null is refused too.
Result<Duration> parse_duration(std::string_view text);
Result<Duration> parse_duration_json(const nlohmann::json& value);
// "1h30m0s", "1.5s", "100ms", "0s".
std::string format_duration(Duration duration);

}  // namespace muster
