// Whether muster is at work, by its Lease, which every user can read: while no replica leads, nothing is admitted or
// evicted, and a state that reads "waits for quota" is old. The commands, doctor and status judge by this alone. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/clock.h"

namespace muster::commands {

// The clocks of the Lease's holder and of the API server can differ by this; more is a finding of muster doctor.
inline constexpr Duration kClockSkew = std::chrono::seconds(5);

// Why no replica of muster leads.
struct LeaderTrouble {
  enum class Kind : uint8_t { kNoHolder, kOfOthers, kExpired } kind;
  std::string sentence;  // without its full stop
};
// `lease`: muster's; nullptr: there is none. `now`: the API server's clock. nullopt: a replica leads, or takes the
// Lease that another one let go a moment ago.
std::optional<LeaderTrouble> leader_trouble(const nlohmann::json* lease, TimePoint now);

// As the commands print it, above what they say; empty: no alarm.
std::string alarm_line(const std::string& alarm);

}  // namespace muster::commands
