#include "commands/kubectl/leader_state.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "runtime/kueue/kueue_presence.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// The holder's clock and the API server's differ by less; what differs by more is a finding of muster doctor.
constexpr Duration kSkew = std::chrono::seconds(5);

}  // namespace

std::string alarm_of(const json& lease, TimePoint now) {
  const std::string_view holder = string_at(lease, {"spec", "holderIdentity"});
  const json* time = find_path(lease, {"spec", "renewTime"});
  const auto renewed = parse_micro_time(time == nullptr ? json() : *time);
  if (!holder.empty() && !runtime::is_muster_identity(holder))
    return "muster does not lead: " + std::string(holder) + " holds its Lease, so muster admits and evicts nothing";
  if (!renewed) return holder.empty() ? "muster is down: no replica leads, so nothing is admitted or evicted" : "";
  const TimePoint last = to_time_point(*renewed);
  const Duration lasts = std::chrono::seconds(int_at(lease, {"spec", "leaseDurationSeconds"}).value_or(15));
  // Without a holder it was let go a moment ago, and the next one takes it.
  if (now <= last + lasts + kSkew) return "";
  return "muster is down since " + format_rfc3339(to_timestamp(last)) + ": nothing is admitted or evicted";
}

std::string alarm_line(const std::string& alarm) {
  return alarm.empty() ? "" : "!! " + alarm + ".\n";
}

}  // namespace muster::commands
