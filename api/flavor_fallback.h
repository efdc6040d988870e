// Flavor fallback (KEP-2560): the rules by which a Workload leaves a flavor on which it does
// not start, and what its status says of the flavors that it has tried. Values only: what
// follows from them is decided in reconcilers/workload/flavor_fallback.h.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/time.h"

namespace muster {

// What makes a flavor fail for a Workload.
enum class FallbackTrigger { kTimeout, kRejectedCheck };
// "TimeoutForPodsReadyExceeded", "AdmissionCheckRejected".
std::string_view to_text(FallbackTrigger trigger);

// What becomes of a Workload for which all flavors have failed.
enum class FallbackFailurePolicy { kRetryAllFlavors, kDeactivateWorkload };

struct FallbackRule {
  std::string flavor;  // "*": each flavor that has no rule for the trigger
  FallbackTrigger trigger = FallbackTrigger::kTimeout;
  std::optional<Duration> timeout{};  // of kTimeout; nullopt: the flavor never fails by time

  bool operator==(const FallbackRule&) const = default;
};

// spec.flavorFungibility.fallbackStrategy of a ClusterQueue.
struct FallbackStrategy {
  FallbackFailurePolicy failure_policy = FallbackFailurePolicy::kRetryAllFlavors;
  std::vector<FallbackRule> rules{};

  bool operator==(const FallbackStrategy&) const = default;
  // A rule with the flavor's name comes before the one for '*'. nullptr: there is none.
  const FallbackRule* rule_for(std::string_view flavor, FallbackTrigger trigger) const;
  // How long a Workload can try the flavor; nullopt: without limit.
  std::optional<Duration> timeout_of(std::string_view flavor) const;
  // Whether the flavor can fail by this trigger.
  bool applies(std::string_view flavor, FallbackTrigger trigger) const;
  // Of all rules; nullopt: no rule has a timeout.
  std::optional<Duration> longest_timeout() const;
};
// Timeouts are at most this long, so that sums with stamps do not overflow.
inline constexpr Duration kLongestFallbackTimeout = std::chrono::hours(24 * 365);
// Of the value of fallbackStrategy. Rules that the schema does not allow are left out.
FallbackStrategy read_fallback_strategy(const nlohmann::json& object);

struct FlavorFailure {
  std::string reason;  // a trigger, as text
  Timestamp time;

  bool operator==(const FlavorFailure&) const = default;
};

// An entry of status.flavorAssignmentHistory.
struct FlavorAttempt {
  std::string flavor;
  Timestamp assigned_at;     // for the last time
  int32_t used_seconds = 0;  // of its timeout, in assignments that have ended
  std::optional<FlavorFailure> failure{};

  bool operator==(const FlavorAttempt&) const = default;
};

// status.flavorFallback: what the history is about.
struct FlavorFallbackState {
  std::string cluster_queue;  // its rules count; in another queue the history is void
  int32_t round = 1;          // RetryAllFlavors: how often all flavors have been tried, with this time

  bool operator==(const FlavorFallbackState&) const = default;
};

struct FlavorHistory {
  std::vector<FlavorAttempt> attempts;  // by the first assignment of each flavor
  std::optional<FlavorFallbackState> fallback;

  bool operator==(const FlavorHistory&) const = default;
  bool empty() const { return attempts.empty() && !fallback; }
  bool is_about(std::string_view cluster_queue) const { return fallback && fallback->cluster_queue == cluster_queue; }
  const FlavorAttempt* find(std::string_view flavor) const;
  FlavorAttempt* find(std::string_view flavor);
};

FlavorHistory read_flavor_history(const nlohmann::json& status);
// The fields of a status that differ, for a merge patch.
void put_flavor_history(const FlavorHistory& before, const FlavorHistory& history, nlohmann::json& patch);

}  // namespace muster
