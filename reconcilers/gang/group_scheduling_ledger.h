// What a gang's ConfigMap says, read and written. jobs/group_scheduling.h has the keys
// that waiters read; `deadlines` is the reconciler's own: lines "<token> <RFC 3339>".
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/config_map.h"
#include "base/clock.h"
#include "state/gang_index.h"

namespace muster::reconcilers {

enum class GroupVerdict { kUndecided, kStarted, kExpired };

struct GangDecisions {
  std::vector<std::string> started;
  std::vector<std::string> expired;
  std::map<std::string, TimePoint, std::less<>> deadlines;

  // `started` wins, as it does for the waiter.
  GroupVerdict verdict(std::string_view token) const;
  std::optional<TimePoint> deadline(std::string_view token) const;
};

GangDecisions read_ledger(const ConfigMap& config_map);
// The three keys, whole.
nlohmann::json to_data(const GangDecisions& ledger);
// Leaves out the runs of which neither Job nor pod is left, so that a gang with endless restarts does not fill its
// ConfigMap. `gang` can be null.
void prune(GangDecisions& ledger, const state::Gang* gang);

}  // namespace muster::reconcilers
