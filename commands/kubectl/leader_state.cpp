#include "commands/kubectl/leader_state.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "commands/terminal/escape.h"
#include "runtime/kueue/kueue_presence.h"

namespace muster::commands {

using nlohmann::json;

std::optional<LeaderTrouble> leader_trouble(const json* lease, TimePoint now) {
  using Kind = LeaderTrouble::Kind;
  // As a replica says it itself (runtime/leadership.cpp).
  LeaderTrouble none{Kind::kNoHolder, "no replica of muster leads: nothing is admitted or evicted"};
  if (lease == nullptr) return none;
  const std::string_view holder = string_at(*lease, {"spec", "holderIdentity"});
  if (!holder.empty() && !runtime::is_muster_identity(holder))
    return LeaderTrouble{Kind::kOfOthers, "muster does not lead: " + std::string(holder) +
                                              " holds its Lease, so muster admits and evicts nothing"};
  const json* time = find_path(*lease, {"spec", "renewTime"});
  const auto renewed = parse_micro_time(time == nullptr ? json() : *time);
  // No time reads as zero.
  if (!renewed || renewed->is_zero()) return holder.empty() ? std::optional(none) : std::nullopt;
  const TimePoint last = to_time_point(*renewed);
  const Duration lasts = std::chrono::seconds(int_at(*lease, {"spec", "leaseDurationSeconds"}).value_or(15));
  if (now <= last + lasts + kClockSkew) return std::nullopt;
  return LeaderTrouble{
      holder.empty() ? Kind::kNoHolder : Kind::kExpired,
      "muster is down since " + format_rfc3339(to_timestamp(last)) + ": nothing is admitted or evicted"};
}

std::string alarm_line(const std::string& alarm) {
  return alarm.empty() ? "" : "!! " + on_one_line(alarm) + ".\n";
}

}  // namespace muster::commands
