// What a simulation says in a sentence or two, before its figures.
#include <algorithm>
#include <cmath>
#include <map>

#include "commands/simulate/report.h"
#include "scheduler/eligibility.h"

namespace muster::commands {
namespace {

using forecast::Summary;
using forecast::WaitGroup;

constexpr size_t kMostNamed = 3;  // queues in one sentence

std::string jobs_text(size_t number) {
  return std::to_string(number) + (number == 1 ? " job" : " jobs");
}

std::string failed_expectations(const Report& report) {
  size_t failed = 0;
  for (const CheckedExpectation& checked : report.expectations) failed += checked.holds ? 0 : 1;
  if (failed == 0) return "";
  return std::to_string(failed) + " of " + std::to_string(report.expectations.size()) + " expectations FAIL. ";
}

struct WaitChange {
  std::string queue;
  double seconds = 0;  // of the mean wait: below zero they wait less
};

// Of the queues and classes in which jobs were admitted both times, the largest changes first.
std::vector<WaitChange> wait_changes(const Summary& before, const Summary& after) {
  std::map<std::pair<std::string, std::string>, const WaitGroup*> earlier;
  for (const WaitGroup& group : before.groups) earlier[{group.queue, group.priority_class}] = &group;
  std::vector<WaitChange> changes;
  for (const WaitGroup& group : after.groups) {
    const auto found = earlier.find({group.queue, group.priority_class});
    if (found == earlier.end() || found->second->waits.jobs == 0 || group.waits.jobs == 0) continue;
    changes.push_back({group.queue + (group.priority_class.empty() ? "" : " (class " + group.priority_class + ")"),
                       group.waits.mean - found->second->waits.mean});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const WaitChange& a, const WaitChange& b) { return std::abs(a.seconds) > std::abs(b.seconds); });
  return changes;
}

std::string change_text(double seconds) {
  if (std::abs(seconds) < 0.5) return "as long as before";
  return span_text(std::abs(seconds)) + (seconds < 0 ? " less" : " longer");
}

// A change of who starts at all comes first: who never starts is in no mean of waits.
std::string starts_text(const Summary& before, const Summary& after) {
  if (before.never_started == after.never_started)
    return after.never_started == 0 ? "" : jobs_text(after.never_started) + " never start, as before. ";
  return jobs_text(after.never_started) + (after.never_started == 1 ? " never starts" : " never start") + ", before " +
         std::to_string(before.never_started) + ". ";
}

}  // namespace

std::string conclusion(const Report& report) {
  if (report.asked) return failed_expectations(report) + verdict_text(report);
  const Summary& all = report.summary;
  std::string text = failed_expectations(report);
  if (all.jobs == 0) return text + "No job has arrived.";
  const bool all_start = all.never_started == 0;
  if (all_start)
    text += all.jobs == 1 ? "The job starts." : "All " + jobs_text(all.jobs) + " start.";
  else
    text += std::to_string(all.never_started) + " of " + jobs_text(all.jobs) +
            (all.never_started == 1 ? " never starts." : " never start.");
  if (all.waits.jobs == 0) return text;
  return text + (all_start ? " Wait before the start: " : " Wait of the others: ") + span_text(all.waits.mean) +
         " on average, " + span_text(all.waits.most) + " at most.";
}

std::string conclusion(const Report& before, const Report& after) {
  std::string text = failed_expectations(after) + starts_text(before.summary, after.summary);
  const std::vector<WaitChange> changes = wait_changes(before.summary, after.summary);
  std::string waits;
  for (size_t i = 0; i < std::min(changes.size(), kMostNamed); ++i)
    waits += (i == 0 ? "" : ", ") + changes[i].queue + (i == 0 ? " waits " : " ") + change_text(changes[i].seconds);
  if (changes.size() > kMostNamed)
    waits += "; " + std::to_string(changes.size() - kMostNamed) + " other queues change less";
  if (!waits.empty()) text += "With " + after.name + ", " + waits + " (on average). ";
  const size_t was = before.summary.evictions, is = after.summary.evictions;
  text += was == is
              ? (is == 0 ? "No job is evicted." : std::to_string(is) + " evictions, as before.")
              : std::to_string(is) + (is == 1 ? " eviction" : " evictions") + ", before " + std::to_string(was) + ".";
  return text;
}

}  // namespace muster::commands
