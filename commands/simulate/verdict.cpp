// The answer to `muster simulate --job`.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "api/meta/time.h"
#include "api/workload.h"
#include "commands/simulate/report.h"
#include "commands/terminal/escape.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// Of the job's own preemptions, up to its first admission.
std::vector<std::string> victims(const Report& report) {
  std::vector<std::string> names;
  const int64_t start = report.history.jobs[*report.asked].first_start;
  for (const forecast::Preemption& preemption : report.history.preemptions) {
    if (preemption.preemptor != *report.asked || (start != forecast::kNever && preemption.at > start)) continue;
    names.push_back(job_name(report.scenario, preemption.victim));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

const forecast::Waiting* why(const Report& report) {
  for (const forecast::Waiting& waiting : report.history.waiting) {
    if (waiting.job == *report.asked) return &waiting;
  }
  return nullptr;
}

// In the cluster it is admitted already.
bool is_admitted_already(const Report& report) {
  const WorkloadPtr& stored = report.scenario.arrivals[*report.asked].stored;
  return stored && stored->admitted() && !stored->evicted();
}

// Of the time in the queue before its first admission.
std::string first_flavors(const Report& report) {
  for (const forecast::Stay& stay : report.history.stays) {
    if (stay.job == *report.asked) return report.history.flavor_sets[stay.flavors];
  }
  return "";
}

}  // namespace

namespace {

// In the words of the estimated starts; nullopt: nothing says how long the Workloads of the cluster run.
std::optional<StartEstimate> estimate_of(const Report& report) {
  if (!report.range) return std::nullopt;
  const auto time = [&](int64_t start) { return to_timestamp(report.scenario.start + Duration(start)); };
  // Other run times change the order, so that short ones can start the job later.
  const auto [first, last] = std::minmax(report.range->earliest, report.range->latest);
  if (first == forecast::kNever && last == forecast::kNever) return std::nullopt;
  if (first == forecast::kNever || last == forecast::kNever)
    return StartEstimate{.outcome = StartOutcome::kNotBefore,
                         .earliest = time(first == forecast::kNever ? last : first),
                         .basis = report.range->basis};
  return StartEstimate{
      .outcome = StartOutcome::kRange, .earliest = time(first), .latest = time(last), .basis = report.range->basis};
}

}  // namespace

json verdict_json(const Report& report) {
  const forecast::JobRecord& job = report.history.jobs[*report.asked];
  json verdict = {{"name", job_name(report.scenario, *report.asked)},
                  {"admitted", job.first_start != forecast::kNever},
                  {"isAdmittedAlready", is_admitted_already(report)},
                  {"evicts", victims(report)}};
  if (job.first_start != forecast::kNever) {
    const int64_t wait = job.first_start - report.scenario.arrivals[*report.asked].at.count();
    verdict["waitSeconds"] = seconds_of(wait);
    verdict["start"] = format_rfc3339(to_timestamp(report.scenario.start + Duration(job.first_start)));
    verdict["flavors"] = first_flavors(report);
    if (const auto estimate = estimate_of(report))
      verdict["estimatedStart"] = to_json(*estimate, to_timestamp(report.scenario.start));
    if (report.summary.knows_nodes) {
      if (job.first_placed != forecast::kNever)
        verdict["podsScheduledSeconds"] =
            seconds_of(job.first_placed - report.scenario.arrivals[*report.asked].at.count());
      json& without = verdict["podsWithoutNode"] = json::array();
      for (const forecast::WithoutNode& one : report.history.without_node) {
        if (one.job == *report.asked) without.push_back(without_node_json(one));
      }
    }
  } else if (const forecast::Waiting* waiting = why(report)) {
    verdict["reason"] = waiting->reason;
    verdict["message"] = waiting->message;
  }
  if (!report.assumed.empty()) verdict["assumed"] = report.assumed;
  return verdict;
}

namespace {

// Of pods that wait for a node, or find none.
std::string pods_text(const json& verdict) {
  if (!verdict.contains("podsWithoutNode")) return "";
  if (!verdict.contains("podsScheduledSeconds")) {
    std::string text = "; its pods never have a node each";
    for (const json& one : verdict["podsWithoutNode"])
      text += " (" + std::to_string(one["pods"].get<int64_t>()) + " of " + std::to_string(one["of"].get<int64_t>()) +
              " of pod set " + one["podSet"].get<std::string>() + ": " + one["message"].get<std::string>() + ")";
    return text;
  }
  const double after = verdict["podsScheduledSeconds"].get<double>();
  if (after <= verdict["waitSeconds"].get<double>()) return "";
  return "; all of its pods have a node in about " + span_text(after);
}

}  // namespace

std::string verdict_text(const Report& report) {
  const json verdict = verdict_json(report);
  std::string text = verdict["name"].get<std::string>();
  if (!verdict["admitted"].get<bool>()) {
    text += " would not be admitted";
    if (verdict.contains("message")) text += ": " + verdict["message"].get<std::string>();
  } else if (verdict["isAdmittedAlready"].get<bool>()) {
    text += " is admitted already, on " + verdict["flavors"].get<std::string>();
  } else if (verdict["waitSeconds"].get<double>() == 0) {
    text += " would be admitted now, on " + verdict["flavors"].get<std::string>();
  } else {
    const auto estimate = estimate_of(report);
    const auto wait = static_cast<int64_t>(verdict["waitSeconds"].get<double>());
    text += " would be admitted " +
            (estimate ? to_sentence(*estimate, to_timestamp(report.scenario.start)) : "in about " + rough_span(wait)) +
            ", on " + verdict["flavors"].get<std::string>();
  }
  text += pods_text(verdict);
  std::string names;
  for (const json& name : verdict["evicts"]) names += (names.empty() ? "" : ", ") + name.get<std::string>();
  text += names.empty() ? "; it evicts no Workload" : "; it evicts " + names;
  return on_one_line(text) + "\nAn estimate: running Workloads end after their run times, and no other job arrives.\n" +
         (report.assumed.empty() ? "" : report.assumed + ".\n");
}

}  // namespace muster::commands
