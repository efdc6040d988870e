// The waiter of a start barrier as a function: what muster-wait would do in this pod
// with these files. The contract is jobs/group_scheduling.h. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace muster::world {

// What a waiter sees in its volume; empty where there is no such file.
struct BarrierFiles {
  std::string started;
  std::string expired;
};
// Of a ConfigMap; null: there is none.
BarrierFiles barrier_files(const nlohmann::json* config_map);

struct Waiter {
  std::string token;
  int64_t limit_seconds = 0;  // gives up after so long
};
// What the waiter's container is started with: its environment resolved against the pod as
// it is now, and its arguments. nullopt: it exits with 2 at once.
std::optional<Waiter> start_waiter(const nlohmann::json& container, const nlohmann::json& pod);
// Its exit code; nullopt: it goes on waiting.
std::optional<int> judge(const Waiter& waiter, const BarrierFiles& files, int64_t waited_seconds);

// The token of a gang's pod, from the labels and annotations that its waiter reads;
// nullopt for a pod without a waiter, or when a part is missing.
std::optional<std::string> token_of_pod(const nlohmann::json& pod);

}  // namespace muster::world
