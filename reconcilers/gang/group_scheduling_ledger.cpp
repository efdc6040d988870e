#include "reconcilers/gang/group_scheduling_ledger.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "api/meta/time.h"
#include "jobs/group_scheduling.h"

namespace muster::reconcilers {
namespace {

std::vector<std::string> lines_at(const ConfigMap& config_map, std::string_view key) {
  std::vector<std::string> lines;
  const auto found = config_map.data.find(key);
  std::string_view text = found == config_map.data.end() ? std::string_view() : found->second;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string to_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return text;
}

bool lists(const std::vector<std::string>& tokens, std::string_view token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

}  // namespace

GroupVerdict GangDecisions::verdict(std::string_view token) const {
  if (lists(started, token)) return GroupVerdict::kStarted;
  return lists(expired, token) ? GroupVerdict::kExpired : GroupVerdict::kUndecided;
}

std::optional<TimePoint> GangDecisions::deadline(std::string_view token) const {
  const auto found = deadlines.find(token);
  return found == deadlines.end() ? std::nullopt : std::optional(found->second);
}

GangDecisions read_ledger(const ConfigMap& config_map) {
  GangDecisions ledger;
  ledger.started = lines_at(config_map, jobs::kGroupStartedKey);
  ledger.expired = lines_at(config_map, jobs::kGroupExpiredKey);
  for (const std::string& line : lines_at(config_map, jobs::kGroupDeadlinesKey)) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    if (const auto time = parse_rfc3339(std::string_view(line).substr(space + 1)); time.ok())
      ledger.deadlines.emplace(line.substr(0, space), to_time_point(*time));
  }
  return ledger;
}

nlohmann::json to_data(const GangDecisions& ledger) {
  std::vector<std::string> deadlines;
  for (const auto& [token, time] : ledger.deadlines)
    deadlines.push_back(token + " " + format_rfc3339(to_timestamp(time)));
  return {{jobs::kGroupStartedKey, to_lines(ledger.started)},
          {jobs::kGroupExpiredKey, to_lines(ledger.expired)},
          {jobs::kGroupDeadlinesKey, to_lines(deadlines)}};
}

void prune(GangDecisions& ledger, const state::Gang* gang) {
  const auto is_gone = [&](const std::string& token) { return gang == nullptr || !gang->runs.contains(token); };
  std::erase_if(ledger.started, is_gone);
  std::erase_if(ledger.expired, is_gone);
  const std::unordered_set<std::string_view> started(ledger.started.begin(), ledger.started.end());
  std::erase_if(ledger.deadlines,
                [&](const auto& line) { return is_gone(line.first) || started.contains(line.first); });
}

}  // namespace muster::reconcilers
