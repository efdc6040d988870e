#include "commands/explain/explain_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "commands/kubectl/leader_state.h"
#include "commands/terminal/escape.h"
#include "commands/terminal/text_table.h"

namespace muster::commands {
namespace {

constexpr size_t kMostRows = 20;
constexpr size_t kMostMoments = 12;

constexpr const char* kIndent = "  ";
constexpr const char* kFromConditions = " *";

std::string section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : "\n" + title + "\n" + body;
}

std::string list(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += "  " + on_one_line(sentence) + "\n";
  return text;
}

// Names in it are those of a cluster: the commands are for a terminal, and to be copied from it.
std::string actions_text(const ExplainReply& explained) {
  std::string text;
  for (const ExplainedAction& action : explained.actions) {
    text += "  " + on_one_line(action.by) + ": " + on_one_line(action.what) + (action.command.empty() ? ".\n" : ":\n");
    if (!action.command.empty()) text += "    " + on_one_line(action.command) + "\n";
  }
  return text + list(explained.other_changes());
}

std::string numbers(const std::vector<ExplainedFlavor>& flavors) {
  if (flavors.empty()) return "";
  std::vector<TableRow> rows = {{"POD SET", "RESOURCE", "FLAVOR", "REQUESTED", "FREE", "NOMINAL", "MAX", ""}};
  for (size_t i = 0; i < std::min(flavors.size(), kMostRows); ++i) {
    const ExplainedFlavor& row = flavors[i];
    rows.push_back(
        {row.pod_set, row.resource, row.flavor, row.requested, row.free, row.nominal, row.most, row.verdict});
  }
  std::string text = text_table(rows, kIndent);
  if (flavors.size() > kMostRows)
    text += "  and " + std::to_string(flavors.size() - kMostRows) + " more; -o json has all\n";
  return text;
}

std::string title_of(const std::string& role) {
  if (role == kAheadRole) return "ahead of it in the queue";
  if (role == kVictimRole) return "evicted for it and still stopping";
  if (role == kBlockerRole) return "admitted and not ready";
  if (role == kPreemptorRole) return "preempted it";
  return role;
}

std::string others_text(const std::vector<ExplainedOthers>& all) {
  std::string text;
  for (const ExplainedOthers& others : all) {
    if (others.role == kHolderRole) {
      text += "  " + on_one_line(holders_sentence(others)) + "\n";
      continue;
    }
    std::string names;
    for (const auto& other : others.names)
      names.append(names.empty() ? "" : ", ").append(other.ns).append("/").append(other.name);
    const int64_t rest = others.count - static_cast<int64_t>(others.names.size());
    if (rest > 0)
      names +=
          (names.empty() ? "" : " and ") + std::to_string(rest) + (names.empty() ? " that you cannot list" : " more");
    text += "  " + std::to_string(others.count) + " " + title_of(others.role) + ": " + names + "\n";
  }
  return text;
}

std::string tries_text(const ExplainedTries& tries) {
  std::string text = std::to_string(tries.failed) + " failed";
  if (tries.limit) text += " of at most " + std::to_string(*tries.limit);
  if (!tries.next_at.is_zero())
    text += "; try " + std::to_string(tries.failed + 1) + " begins at " + format_rfc3339(tries.next_at);
  return text;
}

std::string facts_text(const ExplainReply& explained) {
  std::vector<TableRow> rows;
  for (const ExplainedFact& fact : explained.facts) rows.push_back({fact.name, fact.value});
  if (explained.tries) rows.push_back({"Tries", tries_text(*explained.tries)});
  return text_table(rows, kIndent);
}

std::string history(const std::vector<ExplainedMoment>& timeline, size_t most, bool with_source, const char* indent) {
  std::vector<TableRow> rows;
  for (size_t i = timeline.size() > most ? timeline.size() - most : 0; i < timeline.size(); ++i) {
    const ExplainedMoment& moment = timeline[i];
    std::string what = moment.what;
    if (moment.by) what += ": " + moment.by->ns + "/" + moment.by->name;
    if (with_source && moment.from_conditions) what += kFromConditions;
    rows.push_back({format_rfc3339(moment.time), on_one_line(what)});
  }
  return text_table(rows, indent);
}

}  // namespace

std::string explain_text(const ExplainReply& explained) {
  std::string text = alarm_line(explained.alarm) + on_one_line(explained.headline) + "\n";
  for (const std::string& note : explained.notes) text += "(" + on_one_line(note) + ")\n";
  text += section("Why (" + explained.reason + ")", list(explained.because));
  text += section("When it starts", list(explained.starts));
  text += section("What you can do", actions_text(explained));
  text += section("Quota", numbers(explained.flavors));
  text += section("Related workloads", others_text(explained.others));
  text += section("Facts", facts_text(explained));
  text += section("History", history(explained.timeline, kMostMoments, false, kIndent));
  return text;
}

bool is_news(const ExplainReply& last, const ExplainReply& explained) {
  return explained.headline != last.headline || explained.alarm.empty() != last.alarm.empty();
}

std::string news_text(const ExplainReply& explained) {
  return alarm_line(explained.alarm) + format_rfc3339(explained.at) + "  " + on_one_line(explained.headline) + "\n";
}

std::string history_text(const ExplainReply& explained) {
  const bool from_conditions = std::any_of(explained.timeline.begin(), explained.timeline.end(),
                                           [](const ExplainedMoment& moment) { return moment.from_conditions; });
  std::string text = alarm_line(explained.alarm);
  for (const std::string& note : explained.notes) text += "(" + on_one_line(note) + ")\n";
  if (explained.timeline.empty()) return text + explained.subject() + ": no history is kept.\n";
  text += history(explained.timeline, explained.timeline.size(), true, "");
  if (from_conditions)
    text += "\n*: before this replica of muster began: from conditions, which tell only the last change of each.\n";
  return text;
}

nlohmann::json parts_of(const ExplainReply& explained, const std::set<std::string_view>& fields) {
  nlohmann::json whole = to_json(explained), parts = nlohmann::json::object();
  for (auto& [name, value] : whole.items()) {
    const bool is_common = name == "object" || name == "found" || name == "at" || name == "notes" || name == "alarm";
    if (is_common || fields.contains(name)) parts[name] = std::move(value);
  }
  return parts;
}

nlohmann::json history_json(const ExplainReply& explained) {
  nlohmann::json parts = parts_of(explained, {"timeline"});
  parts["moments"] = std::move(parts["timeline"]);
  parts.erase("timeline");
  return parts;
}

}  // namespace muster::commands
