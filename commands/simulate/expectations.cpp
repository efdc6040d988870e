#include "commands/simulate/expectations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/yaml.h"
#include "api/workload.h"
#include "commands/simulate/report.h"
#include "forecast/annotations.h"
#include "kinds/strict_fields.h"
#include "scheduler/eligibility.h"

namespace muster::commands {
namespace {

using forecast::History;
using forecast::Scenario;
using forecast::Summary;
using forecast::WaitGroup;
using nlohmann::json;

enum class Unit { kTime, kCount, kShare };
enum class About { kQueue, kJob, kFlavor };
struct Limit {
  const char* name;
  About about;
  Unit unit;
};
constexpr Limit kLimits[] = {
    {"waitMeanAtMost", About::kQueue, Unit::kTime},     {"waitP50AtMost", About::kQueue, Unit::kTime},
    {"waitP99AtMost", About::kQueue, Unit::kTime},      {"waitMaxAtMost", About::kQueue, Unit::kTime},
    {"evictionsAtMost", About::kQueue, Unit::kCount},   {"preemptionsAtMost", About::kQueue, Unit::kCount},
    {"fallbacksAtMost", About::kQueue, Unit::kCount},   {"neverStartedAtMost", About::kQueue, Unit::kCount},
    {"finishedAtLeast", About::kQueue, Unit::kCount},   {"startsWithin", About::kJob, Unit::kTime},
    {"finishesWithin", About::kJob, Unit::kTime},       {"evictionsAtMost", About::kJob, Unit::kCount},
    {"podsScheduledWithin", About::kJob, Unit::kTime},  {"neverScheduledAtMost", About::kQueue, Unit::kCount},
    {"meanUsageAtLeast", About::kFlavor, Unit::kShare}, {"meanUsageAtMost", About::kFlavor, Unit::kShare}};

About about(const Expectation& expectation) {
  if (!expectation.job.empty()) return About::kJob;
  return expectation.flavor.empty() ? About::kQueue : About::kFlavor;
}

Result<double> read_limit(const Limit& limit, const json& value) {
  if (limit.unit == Unit::kTime) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
    const auto span = forecast::parse_span(text);
    if (!span) return fail(span.error().message);
    return std::chrono::duration<double>(*span).count();
  }
  if (!value.is_number()) return fail("must be a number");
  const double number = value.get<double>();
  if (number < 0 || (limit.unit == Unit::kCount && number != std::floor(number)))
    return fail(limit.unit == Unit::kCount ? "must be a whole number, not negative" : "must not be negative");
  return number;
}

// Queues, one job or one flavor; with their description in words.
void read_subject(StrictFields& fields, Expectation& expectation, FieldErrors& errors) {
  expectation.queue = fields.text("queue", "");
  expectation.cluster_queue = fields.text("clusterQueue", "");
  expectation.priority_class = fields.text("priorityClass", "");
  expectation.job = fields.text("job", "");
  expectation.flavor = fields.text("flavor", "");
  const bool queues =
      !expectation.queue.empty() || !expectation.cluster_queue.empty() || !expectation.priority_class.empty();
  if (static_cast<int>(queues) + !expectation.job.empty() + !expectation.flavor.empty() > 1)
    errors.push_back(invalid(fields.at("job"), expectation.job, "is about queues, one job or one flavor, not several"));
  if (!expectation.flavor.empty()) expectation.resource = fields.text("resource");
  if (!expectation.job.empty()) expectation.on_flavor = fields.text("runsOn", "");
  for (const auto& [word, name] : {std::pair("queue ", expectation.queue),
                                   {"ClusterQueue ", expectation.cluster_queue},
                                   {"class ", expectation.priority_class},
                                   {"job ", expectation.job},
                                   {"flavor ", expectation.flavor},
                                   {"resource ", expectation.resource}}) {
    if (!name.empty()) expectation.text += (expectation.text.empty() ? "" : ", ") + (word + name);
  }
  if (expectation.text.empty()) expectation.text = "all jobs";
}

Expectation read_expectation(const json& value, const FieldPath& place, FieldErrors& errors) {
  Expectation expectation{.place = place.text()};
  StrictFields fields(value, place, errors);
  if (!fields.is_object()) return expectation;
  read_subject(fields, expectation, errors);
  for (const Limit& limit : kLimits) {
    if (limit.about != about(expectation)) continue;
    const json* found = fields.find(limit.name);
    if (found == nullptr) continue;
    const auto number = read_limit(limit, *found);
    if (!number)
      errors.push_back(invalid(fields.at(limit.name), found->dump(), number.error().message));
    else
      expectation.limits[limit.name] = *number;
  }
  fields.refuse_others();
  if (errors.empty() && expectation.limits.empty() && expectation.on_flavor.empty())
    errors.push_back(required(place, "an expectation needs a limit, as waitP99AtMost: 10m"));
  return expectation;
}

std::string number_text(double number) {
  return json(number == std::floor(number) ? json(static_cast<int64_t>(number)) : json(number)).dump();
}

class Checker {
 public:
  Checker(const Expectation& expectation, std::vector<CheckedExpectation>& checked)
      : expectation_(expectation), checked_(checked) {}

  void check(const char* limit, bool holds_is_less, double found, bool in_time, const std::string& what) {
    const auto wanted = expectation_.limits.find(limit);
    if (wanted == expectation_.limits.end()) return;
    const bool holds = holds_is_less ? found <= wanted->second : found >= wanted->second;
    const auto text = [&](double value) { return in_time ? span_text(value) : number_text(value); };
    checked_.push_back(
        {.name = expectation_.place + ": " + expectation_.text + ": " + limit + " " + text(wanted->second),
         .holds = holds,
         .found = what + " " + text(found)});
  }
  void check_time(const char* limit, int64_t at, int64_t since, const std::string& never) {
    if (at != forecast::kNever) {
      check(limit, true, seconds_of(at - since), true, "it took");
    } else if (const auto wanted = expectation_.limits.find(limit); wanted != expectation_.limits.end()) {
      checked_.push_back(
          {.name = expectation_.place + ": " + expectation_.text + ": " + limit + " " + span_text(wanted->second),
           .holds = false,
           .found = never});
    }
  }
  void check_text(const std::string& limit, const std::string& wanted, const std::string& found) {
    checked_.push_back({.name = expectation_.place + ": " + expectation_.text + ": " + limit + " " + wanted,
                        .holds = wanted == found,
                        .found = found.empty() ? "it never started" : "it ran on " + found});
  }

 private:
  const Expectation& expectation_;
  std::vector<CheckedExpectation>& checked_;
};

// Percentiles of several groups are computed from the jobs themselves. A job that never starts has an infinite
// wait: it must not improve the waits of the others.
forecast::Waits waits_over(const Scenario& scenario, const History& history,
                           const std::set<std::pair<std::string, std::string>>& groups) {
  std::vector<double> seconds;
  for (size_t i = 0; i < history.jobs.size(); ++i) {
    const forecast::Arrival& arrival = scenario.arrivals[i];
    const Workload& workload = *scenario.shapes[arrival.shape].workload;
    const std::string name = workload.priority_class ? workload.priority_class->name.text() : "";
    if (!groups.contains({path_of(workload.meta.ns, workload.queue_name), name})) continue;
    const int64_t start = history.jobs[i].first_start;
    if (history.jobs[i].fate == forecast::Fate::kNotCome) continue;
    if (start == forecast::kNever)
      seconds.push_back(std::numeric_limits<double>::infinity());
    else if (!(arrival.stored && arrival.stored->admitted()))
      seconds.push_back(seconds_of(start - arrival.at.count()));
  }
  return forecast::waits_of(seconds);
}

Result<bool> check_queues(const Expectation& expectation, const Scenario& scenario, const History& history,
                          const Summary& summary, Checker& checker) {
  std::set<std::pair<std::string, std::string>> groups;
  forecast::JobCounts sum;
  for (const WaitGroup& group : summary.groups) {
    const auto matches = [](const std::string& wanted, const std::string& is) {
      return wanted.empty() || wanted == is;
    };
    if (!matches(expectation.queue, group.queue) || !matches(expectation.cluster_queue, group.cluster_queue) ||
        !matches(expectation.priority_class, group.priority_class))
      continue;
    groups.emplace(group.queue, group.priority_class);
    sum.add(group);
  }
  if (groups.empty()) return fail(expectation.place + ": no job of the simulation is of " + expectation.text);
  const forecast::Waits waits = waits_over(scenario, history, groups);
  checker.check("waitMeanAtMost", true, waits.mean, true, "the mean of the waits is");
  checker.check("waitP50AtMost", true, waits.p50, true, "the median of the waits is");
  checker.check("waitP99AtMost", true, waits.p99, true, "the 99th percentile of the waits is");
  checker.check("waitMaxAtMost", true, waits.most, true, "the longest wait is");
  checker.check("evictionsAtMost", true, static_cast<double>(sum.evictions), false, "evictions:");
  checker.check("preemptionsAtMost", true, static_cast<double>(sum.preemptions), false, "preemptions:");
  checker.check("fallbacksAtMost", true, static_cast<double>(sum.fallbacks), false, "fallbacks:");
  checker.check("neverStartedAtMost", true, static_cast<double>(sum.never_started), false, "never started:");
  checker.check("neverScheduledAtMost", true, static_cast<double>(sum.never_placed), false, "never scheduled:");
  checker.check("finishedAtLeast", false, static_cast<double>(sum.finished), false, "finished:");
  return true;
}

Result<bool> check_job(const Expectation& expectation, const Scenario& scenario, const History& history,
                       Checker& checker) {
  for (size_t i = 0; i < scenario.arrivals.size(); ++i) {
    if (forecast::job_name(scenario, i) != expectation.job) continue;
    const forecast::JobRecord& job = history.jobs[i];
    const int64_t at = scenario.arrivals[i].at.count();
    checker.check_time("startsWithin", job.first_start, at, "it never started");
    checker.check_time("finishesWithin", job.fate == forecast::Fate::kFinished ? job.end : forecast::kNever, at,
                       "it did not finish");
    checker.check_time("podsScheduledWithin", job.first_placed, at, "not all of its pods had a node");
    checker.check("evictionsAtMost", true, job.evictions, false, "evictions:");
    if (!expectation.on_flavor.empty())
      checker.check_text("runsOn", expectation.on_flavor, job.starts > 0 ? history.flavor_sets[job.flavors] : "");
    return true;
  }
  return fail(expectation.place + ": there is no job \"" + expectation.job + "\" in the simulation");
}

Result<bool> check_flavor(const Expectation& expectation, const Summary& summary, Checker& checker) {
  for (const forecast::UsageRow& row : summary.flavors) {
    if (row.flavor != expectation.flavor || row.resource != expectation.resource) continue;
    const double share = row.nominal > 0 ? row.mean / static_cast<double>(row.nominal) : 0;
    checker.check("meanUsageAtLeast", false, share, false, "the mean share of the nominal quota is");
    checker.check("meanUsageAtMost", true, share, false, "the mean share of the nominal quota is");
    return true;
  }
  return fail(expectation.place + ": no ClusterQueue has quota of " + expectation.text);
}

}  // namespace

Result<std::vector<Expectation>> read_expectations(std::string_view yaml) {
  const auto documents = read_yaml(yaml);
  if (!documents) return fail("line " + std::to_string(documents.error().line) + ": " + documents.error().message);
  if (documents->size() != 1) return fail("must hold one document with a list `expect`");
  FieldErrors errors;
  StrictFields fields(documents->front().value, FieldPath(""), errors);
  std::vector<Expectation> expectations;
  if (fields.is_object()) {
    for (const auto& [value, place] : fields.list("expect", 10'000, false))
      expectations.push_back(read_expectation(*value, place, errors));
    fields.refuse_others();
  }
  if (!errors.empty()) return fail(errors.front().text());
  if (expectations.empty()) return fail("expect: Required value: the list is empty");
  return expectations;
}

Result<std::vector<CheckedExpectation>> check_expectations(const std::vector<Expectation>& expectations,
                                                           const Scenario& scenario, const History& history,
                                                           const Summary& summary) {
  std::vector<CheckedExpectation> checked;
  for (const Expectation& expectation : expectations) {
    Checker checker(expectation, checked);
    Result<bool> done = true;
    switch (about(expectation)) {
      case About::kQueue:
        done = check_queues(expectation, scenario, history, summary, checker);
        break;
      case About::kJob:
        done = check_job(expectation, scenario, history, checker);
        break;
      case About::kFlavor:
        done = check_flavor(expectation, summary, checker);
        break;
    }
    if (!done) return fail(done.error().message);
  }
  return checked;
}

}  // namespace muster::commands
