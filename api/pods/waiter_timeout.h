// How long a start barrier's init container waits for its gang: its own argument.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace muster {

// Of `--timeout-seconds=N` among the container's arguments; nullopt where there is none, or N is nothing that the
// waiter takes (commands/wait): a whole number of seconds from 1 to 2^31-1.
std::optional<int64_t> waiter_timeout_seconds(const nlohmann::json& container);
// Of `--grace-seconds=N`: how long after that time it waits for a decision. Here N can be 0.
std::optional<int64_t> waiter_grace_seconds(const nlohmann::json& container);

}  // namespace muster
