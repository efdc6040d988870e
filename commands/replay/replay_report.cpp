// The outcome of a replay for people and for programs.
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "api/meta/time.h"
#include "api/workload.h"
#include "commands/replay/replay.h"
#include "commands/terminal/escape.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

using nlohmann::json;
using recording::Difference;
using recording::ReplayCount;

std::string time_text(TimePoint time) {
  return format_rfc3339(to_timestamp(time));
}

std::string version_text(std::string_view version, std::string_view commit) {
  return std::string(version) + " (" + std::string(commit) + ")";
}

json to_json(const ReplayCount& count) {
  return {{"recorded", count.recorded}, {"equal", count.equal},         {"moved", count.moved},
          {"otherWords", count.words},  {"different", count.different}, {"added", count.added}};
}

json to_json(const Difference& difference) {
  json object = {{"time", time_text(difference.at)}, {"batch", difference.batch}, {"object", difference.object},
                 {"recorded", difference.recorded},  {"now", difference.now},     {"times", difference.times},
                 {"settling", difference.settling}};
  if (!difference.field.empty()) object["field"] = difference.field;
  return object;
}

void add_row(std::ostringstream& out, std::string_view name, const ReplayCount& count) {
  out << std::left << std::setw(14) << name << std::right;
  for (const uint64_t number : {count.recorded, count.equal, count.words, count.different, count.added})
    out << std::setw(13) << number;
  out << "\n";
}

// Messages in a recording are texts of other users: they must not move the cursor of a terminal.
void add_difference(std::ostringstream& out, const Difference& difference) {
  out << "\n"
      << time_text(difference.at) << "  " << on_one_line(difference.object)
      << (difference.times > 1 ? "  (" + std::to_string(difference.times) + " times)" : "")
      << (difference.settling ? "  (while it settles: does not count)" : "") << "\n"
      << "  recorded  " << on_one_line(difference.recorded) << "\n"
      << "  now       " << on_one_line(difference.now) << "\n";
  if (!difference.field.empty()) out << "  field     " << on_one_line(difference.field) << "\n";
}

}  // namespace

std::string replay_table(const ReplayReport& report) {
  std::ostringstream out;
  const recording::ReplayResult& result = report.result;
  out << "Recorded by muster " << on_one_line(version_text(report.header.version, report.header.commit))
      << ", decided again by " << version_text(runtime::kVersion, runtime::kCommit) << ".\n"
      << time_text(result.first) << " to " << time_text(result.last) << ": " << result.batches << " batches, "
      << result.events << " events, " << result.objects << " objects at the end.\n";
  if (!report.torn.empty()) out << "The recording ends early: " << report.torn << ".\n";
  if (report.header.from_snapshot)
    out << "The file begins with a snapshot: " << result.settling << " differences of the first "
        << std::chrono::duration_cast<std::chrono::seconds>(recording::Replay::kSettling).count()
        << " s do not count.\n";
  out << "\n" << std::left << std::setw(14) << "DECISIONS" << std::right;
  for (const char* head : {"RECORDED", "EQUAL", "OTHER WORDS", "DIFFERENT", "ONLY NOW"}) out << std::setw(13) << head;
  out << "\n";
  for (const auto& [kind, count] : result.kinds) add_row(out, word_of(kind), count);
  const ReplayCount total = result.total();
  add_row(out, "all", total);
  if (total.moved > 0) out << "\n" << total.moved << " of the equal decisions are up to 10 s earlier or later.\n";
  for (const Difference& difference : result.differences) add_difference(out, difference);
  if (result.more > 0) out << "\n" << result.more << " more; --differences N shows them.\n";
  out << "\n" << (result.equal() ? "The decisions are equal." : "The decisions are different.") << "\n";
  return out.str();
}

json replay_json(const ReplayReport& report) {
  const recording::ReplayResult& result = report.result;
  json kinds = json::object(), differences = json::array();
  for (const auto& [kind, count] : result.kinds) kinds[std::string(word_of(kind))] = to_json(count);
  for (const Difference& difference : result.differences) differences.push_back(to_json(difference));
  json object = {{"recordedBy", {{"version", report.header.version}, {"commit", report.header.commit}}},
                 {"replayedBy", {{"version", runtime::kVersion}, {"commit", runtime::kCommit}}},
                 {"equal", result.equal()},
                 {"first", time_text(result.first)},
                 {"last", time_text(result.last)},
                 {"bytes", report.bytes},
                 {"batches", result.batches},
                 {"events", result.events},
                 {"objects", result.objects},
                 {"fromSnapshot", report.header.from_snapshot},
                 {"settling", result.settling},
                 {"decisions", to_json(result.total())},
                 {"kinds", kinds},
                 {"differences", differences},
                 {"moreDifferences", result.more}};
  if (!report.torn.empty()) object["endsEarly"] = report.torn;
  return object;
}

}  // namespace muster::commands
