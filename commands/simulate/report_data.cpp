// Outcomes for programs.
#include <array>
#include <nlohmann/json.hpp>

#include "api/meta/time.h"
#include "api/requests.h"
#include "api/workload.h"
#include "base/did_you_mean.h"
#include "commands/simulate/report.h"
#include "commands/terminal/escape.h"
#include "scheduler/eligibility.h"

namespace muster::commands {
namespace {

using forecast::Fate;
using forecast::kNever;
using nlohmann::json;

constexpr std::array<std::string_view, 5> kFates = {"notCome", "waiting", "running", "finished", "deactivated"};

json waits_json(const forecast::Waits& waits) {
  return {{"jobs", waits.jobs},
          {"meanSeconds", waits.mean},
          {"p50Seconds", waits.p50},
          {"p99Seconds", waits.p99},
          {"maxSeconds", waits.most}};
}

json usage_json(const forecast::UsageRow& row) {
  json usage = {{"flavor", row.flavor},
                {"resource", row.resource},
                {"nominal", to_quantity(row.resource, row.nominal).text()},
                {"mean", to_quantity(row.resource, static_cast<int64_t>(row.mean)).text()},
                {"max", to_quantity(row.resource, row.most).text()}};
  if (!row.cluster_queue.empty()) usage["clusterQueue"] = row.cluster_queue;
  return usage;
}

json group_json(const forecast::WaitGroup& group) {
  return {{"queue", group.queue},
          {"clusterQueue", group.cluster_queue},
          {"priorityClass", group.priority_class},
          {"jobs", group.jobs},
          {"finished", group.finished},
          {"running", group.running},
          {"waiting", group.waiting},
          {"deactivated", group.deactivated},
          {"neverStarted", group.never_started},
          {"neverScheduled", group.never_placed},
          {"evictions", group.evictions},
          {"preemptions", group.preemptions},
          {"fallbacks", group.fallbacks},
          {"waits", waits_json(group.waits)}};
}

json evictions_json(const forecast::Summary& summary) {
  json evictions = json::array();
  for (const auto& [queue, reasons] : summary.evictions_by_queue) {
    for (const auto& [reason, number] : reasons)
      evictions.push_back({{"clusterQueue", queue}, {"reason", reason}, {"count", number}});
  }
  return evictions;
}

json nodes_json(const forecast::Summary& summary) {
  json nodes = json::array();
  const auto text = [](const std::string& resource, double amount) {
    return to_quantity(resource, static_cast<int64_t>(amount)).text();
  };
  for (const forecast::NodeRow& row : summary.nodes)
    nodes.push_back({{"flavor", row.flavor},
                     {"nodes", row.nodes},
                     {"resource", row.resource},
                     {"allocatable", text(row.resource, static_cast<double>(row.allocatable))},
                     {"otherPods", text(row.resource, static_cast<double>(row.others))},
                     {"mean", text(row.resource, row.mean)},
                     {"max", text(row.resource, static_cast<double>(row.most))}});
  return nodes;
}

json node_waits_json(const forecast::NodeWaits& waits) {
  return {{"admissions", waits.waited},
          {"inVain", waits.in_vain},
          {"waits", waits_json(waits.waits)},
          {"pods", {{"max", waits.most_pods}, {"mean", waits.mean_pods}}}};
}

json all_without_node(const Report& report) {
  json list = json::array();
  for (const forecast::WithoutNode& one : report.history.without_node) {
    list.push_back(without_node_json(one));
    list.back()["job"] = job_name(report.scenario, one.job);
  }
  return list;
}

json waiting_json(const Report& report) {
  json waiting = json::array();
  for (const forecast::Waiting& one : report.history.waiting)
    waiting.push_back({{"job", job_name(report.scenario, one.job)},
                       {"clusterQueue", one.cluster_queue},
                       {"reason", one.reason},
                       {"message", one.message}});
  return waiting;
}

// RFC 4180; a cell that a spreadsheet would treat as a formula is written as text.
std::string cell(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted.append(letter == '"' ? 2 : 1, letter);
  return quoted + "\"";
}

std::string number_cell(int64_t nanoseconds) {
  return nanoseconds == kNever ? "" : json(seconds_of(nanoseconds)).dump();
}

}  // namespace

json without_node_json(const forecast::WithoutNode& pods) {
  return {{"podSet", pods.pod_set}, {"pods", pods.pods}, {"of", pods.of}, {"message", pods.message}};
}

Result<SimulateFormat> parse_simulate_format(std::string_view text) {
  static const std::vector<std::string> names = {"table", "json", "yaml", "csv", "junit"};
  static constexpr SimulateFormat kFormats[] = {SimulateFormat::kTable, SimulateFormat::kJson, SimulateFormat::kYaml,
                                                SimulateFormat::kCsv, SimulateFormat::kJunit};
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return kFormats[i];
  }
  return fail("there is no format \"" + std::string(text) + "\"; there are table, json, yaml, csv and junit" +
              did_you_mean(text, names));
}

json report_json(const Report& report) {
  const forecast::Summary& summary = report.summary;
  json queues = json::array(), flavors = json::array(), usage = json::array(), at_end = json::array();
  for (const forecast::WaitGroup& group : summary.groups) queues.push_back(group_json(group));
  for (const forecast::UsageRow& row : summary.flavors) flavors.push_back(usage_json(row));
  for (const forecast::UsageRow& row : summary.queue_usage) usage.push_back(usage_json(row));
  for (const forecast::QueueAtEnd& queue : report.history.queues_at_end)
    at_end.push_back({{"clusterQueue", queue.cluster_queue},
                      {"waiting", queue.pending},
                      {"inactive", queue.inactive},
                      {"holders", queue.holders},
                      {"allHolders", queue.all_holders}});
  json expectations = json::array();
  for (const CheckedExpectation& checked : report.expectations)
    expectations.push_back({{"name", checked.name}, {"holds", checked.holds}, {"found", checked.found}});
  std::vector<std::string> notes = report.notes;
  notes.insert(notes.end(), report.history.notes.begin(), report.history.notes.end());
  json all = {
      {"input", report.name},
      {"start", format_rfc3339(to_timestamp(report.scenario.start))},
      {"elapsedSeconds", seconds_of(summary.elapsed.count())},
      {"steps", summary.steps},
      {"jobs",
       {{"all", summary.jobs},
        {"finished", summary.finished},
        {"running", summary.running},
        {"waiting", summary.waiting},
        {"deactivated", summary.deactivated},
        {"neverStarted", summary.never_started}}},
      {"waits", waits_json(summary.waits)},
      {"pending", {{"max", summary.most_pending}, {"mean", summary.mean_pending}}},
      {"evicted", {{"all", summary.evictions}, {"preemptions", summary.preemptions}, {"fallbacks", summary.fallbacks}}},
      {"queues", std::move(queues)},
      {"flavors", std::move(flavors)},
      {"usage", std::move(usage)},
      {"evictions", evictions_json(summary)},
      {"deactivations", summary.deactivations},
      {"waiting", waiting_json(report)},
      {"waitingFor", std::move(at_end)},
      {"expectations", std::move(expectations)},
      {"notes", std::move(notes)}};
  if (summary.knows_nodes) {
    all["nodes"] = nodes_json(summary);
    all["waitsForNodes"] = node_waits_json(summary.node_waits);
    all["podsWithoutNode"] = all_without_node(report);
  }
  if (report.asked) all["job"] = verdict_json(report);
  return all;
}

std::string report_csv(const Report& report) {
  std::string text =
      "job,kind,queue,class,arrival,start,end,wait,state,starts,evictions,preemptions,fallbacks,flavors,"
      "podsScheduled\n";
  for (size_t i = 0; i < report.history.jobs.size(); ++i) {
    const forecast::JobRecord& job = report.history.jobs[i];
    if (job.fate == Fate::kNotCome) continue;
    const forecast::Arrival& arrival = report.scenario.arrivals[i];
    const forecast::JobShape& shape = report.scenario.shapes[arrival.shape];
    const Workload& workload = *shape.workload;
    const int64_t wait = job.first_start == kNever ? kNever : job.first_start - arrival.at.count();
    text += cell(job_name(report.scenario, i)) + "," + cell(shape.kind) + "," +
            cell(path_of(workload.meta.ns, workload.queue_name)) + "," +
            cell(workload.priority_class ? workload.priority_class->name.text() : "") + "," +
            number_cell(arrival.at.count()) + "," + number_cell(job.first_start) + "," + number_cell(job.end) + "," +
            number_cell(wait) + "," + std::string(kFates[static_cast<size_t>(job.fate)]) + "," +
            std::to_string(job.starts) + "," + std::to_string(job.evictions) + "," + std::to_string(job.preemptions) +
            "," + std::to_string(job.fallbacks) + "," +
            cell(job.starts > 0 ? report.history.flavor_sets[job.flavors] : "") + "," + number_cell(job.first_placed) +
            "\n";
  }
  return text;
}

std::string report_junit(const Report& report) {
  size_t failed = 0;
  std::string cases;
  for (const CheckedExpectation& checked : report.expectations) {
    cases += "    <testcase classname=\"" + escape_xml(report.name) + "\" name=\"" + escape_xml(checked.name) + "\"";
    if (checked.holds) {
      cases += "/>\n";
      continue;
    }
    ++failed;
    cases += ">\n      <failure type=\"expectation\" message=\"" + escape_xml(checked.found) + "\">" +
             escape_xml(checked.name + ": " + checked.found) + "</failure>\n    </testcase>\n";
  }
  const std::string counts =
      "tests=\"" + std::to_string(report.expectations.size()) + "\" failures=\"" + std::to_string(failed) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts +
         ">\n  <testsuite name=\"muster simulate\" " + counts + ">\n" + cases + "  </testsuite>\n</testsuites>\n";
}

json comparison_json(const Report& before, const Report& after) {
  return {{"before", report_json(before)}, {"after", report_json(after)}};
}

}  // namespace muster::commands
