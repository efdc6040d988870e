// Whether muster is at work, by its Lease, which every user can read: while no replica leads, nothing is admitted or
// evicted, and a state that reads "waits for quota" is old. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/clock.h"

namespace muster::commands {

// A sentence for the first line, or nothing where a replica leads. `now`: the API server's.
std::string alarm_of(const nlohmann::json& lease, TimePoint now);
// As the commands print it, above what they say; empty: no alarm.
std::string alarm_line(const std::string& alarm);

}  // namespace muster::commands
