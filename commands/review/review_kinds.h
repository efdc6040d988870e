// `muster review --kinds FILE`: what muster sees in a job: its pod sets, what they ask for, and its state. So a
// description of a kind can be tried before it is installed. Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/config/queue_settings.h"
#include "kinds/kind_hook.h"

namespace muster::commands {

// A few lines about the object, and a table of its pod sets. Empty: it is of no kind that muster queues.
std::string what_is_seen(const nlohmann::json& object, const ConsultedLookup& find, const QueueSettings& settings);

}  // namespace muster::commands
