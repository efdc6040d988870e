#include "commands/simulate/page.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "api/meta/readable_quantity.h"
#include "api/meta/time.h"
#include "api/requests.h"
#include "commands/simulate/plots.h"
#include "commands/terminal/escape.h"
#include "runtime/version.h"
#include "scheduler/eligibility.h"

namespace muster::commands {
namespace {

using forecast::kNever;
using forecast::UsageRow;
using forecast::WaitGroup;

constexpr size_t kMostPlots = 8;    // flavors and resources
constexpr size_t kMostQueues = 11;  // in one plot; the others are one series
constexpr size_t kMostJobs = 300;
constexpr size_t kMostRows = 500;

constexpr const char* kStyle =
    ":root{color-scheme:light "
    "dark;--text:#1b1f24;--quiet:#57606a;--ground:#fff;--line:#d5dae0;--bad:#b3261e;--wait:#8a929b}"
    "@media(prefers-color-scheme:dark){:root{--text:#e4e8ec;--quiet:#9aa5b1;--ground:#14181d;--line:#39424c;"
    "--bad:#f0776d;--wait:#8d99a6}}"
    "*{box-sizing:border-box}"
    "body{font:15px/1.45 system-ui,sans-serif;margin:24px auto;padding:0 16px;max-width:1000px;color:var(--text);"
    "background:var(--ground)}"
    "h1{font-size:20px}h2{font-size:17px;margin-top:28px}h3{font-size:15px;margin:12px 0 0}"
    ".conclusion{font-size:18px}.quiet{color:var(--quiet)}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse}td,th{padding:2px 12px 2px 0;text-align:left;border-bottom:1px solid var(--line);"
    "overflow-wrap:break-word}"
    "p.top,p.times{display:flex;justify-content:space-between;margin:0;font-size:13px;color:var(--quiet)}"
    ".of-limit{color:var(--bad)}.of-limit::before{content:'\\2013\\2013\\00a0'}"
    "svg{display:block;width:100%}.area{height:200px;border-left:1px solid var(--quiet);"
    "border-bottom:1px solid var(--quiet)}.area polygon{stroke:var(--ground);stroke-width:1}"
    ".limit{stroke:var(--bad);stroke-width:2;stroke-dasharray:6 4}.waits{fill:var(--wait)}"
    ".evicted{stroke:var(--bad);stroke-width:1.5}.area *,.bars *{vector-effect:non-scaling-stroke}"
    ".job{display:grid;grid-template-columns:15rem minmax(0,1fr);gap:8px;align-items:center}"
    ".job>span{font-size:13px;text-align:right;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}"
    ".bars{height:14px}"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 16px;margin:6px 0}"
    ".legend i{display:inline-block;width:12px;height:12px;border:1px solid var(--quiet)}.fails{color:var(--bad)}"
    "body.two{max-width:1900px}.sides{display:flex;gap:32px}.sides>section{flex:1 1 0;min-width:0}"
    ".two .job{grid-template-columns:10rem minmax(0,1fr)}"
    "@media(max-width:46rem){body{margin:12px auto;padding:0 10px}.sides{display:block}"
    ".times span:nth-child(even){display:none}.job,.two .job{grid-template-columns:7.5rem minmax(0,1fr)}"
    "td,th{font-size:14px;padding-right:8px}}";

std::string row(const std::vector<std::string>& cells, const char* of = "td") {
  std::string text = "<tr>";
  for (const std::string& cell : cells)
    text += "<" + std::string(of) + ">" + escape_xml(cell) + "</" + std::string(of) + ">";
  return text + "</tr>\n";
}

std::string table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<div class=\"scroll\"><table>" + row(head, "th");
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) text += row(rows[i]);
  text += "</table></div>\n";
  if (rows.size() > kMostRows) text += "<p>... and " + std::to_string(rows.size() - kMostRows) + " more.</p>\n";
  return text;
}

std::string concluded(const std::string& text) {
  return "<p class=\"conclusion\">" + escape_xml(text) + "</p>\n";
}

std::string heads(const Report& report) {
  const forecast::Summary& all = report.summary;
  return "<p class=\"quiet\">" + escape_xml(report.name) + ", from " +
         escape_xml(format_rfc3339(to_timestamp(report.scenario.start))) + ", " +
         span_text(seconds_of(all.elapsed.count())) + " of simulated time. " + std::to_string(all.jobs) +
         " jobs: " + std::to_string(all.finished) + " finished, " + std::to_string(all.running) + " running, " +
         std::to_string(all.waiting) + " waiting, " + std::to_string(all.deactivated) + " deactivated. Wait: mean " +
         span_text(all.waits.mean) + ", p50 " + span_text(all.waits.p50) + ", p99 " + span_text(all.waits.p99) + ". " +
         std::to_string(all.evictions) + " evictions, " + std::to_string(all.preemptions) + " of them preemptions, " +
         std::to_string(all.fallbacks) + " flavor fallbacks.</p>\n";
}

std::string expectations(const Report& report) {
  if (report.expectations.empty()) return "";
  std::string text = "<h2>Expectations</h2>\n<ul>\n";
  for (const CheckedExpectation& checked : report.expectations)
    text += "<li" + std::string(checked.holds ? "" : " class=\"fails\"") + ">" +
            escape_xml((checked.holds ? "holds: " : "FAILS: ") + checked.name + " (" + checked.found + ")") + "</li>\n";
  return text + "</ul>\n";
}

// --- Plots. Two configurations that are compared have the same axes and colors ---

struct UsageAxis {
  int64_t most = 0;
  std::vector<std::string> queues;  // those with the highest usage first
};

struct Axes {
  double seconds = 0;
  int64_t waiting = 0, without_node = 0;
  std::map<std::pair<std::string, std::string>, UsageAxis> usage;  // by flavor and resource
  std::vector<std::string> flavor_sets;                            // of all reports: the place is the color
};

// Of every report, the usage of each queue.
UsageAxis usage_axis(const std::vector<const Report*>& reports, const std::string& flavor,
                     const std::string& resource) {
  UsageAxis axis;
  std::map<std::string, double> area_of_queue;
  for (const Report* report : reports) {
    for (const UsageRow& row : report->summary.flavors) {
      if (row.flavor == flavor && row.resource == resource) axis.most = std::max({axis.most, row.nominal, row.most});
    }
    const forecast::UsageTracks& usage = report->history.usage;
    for (size_t i = 0; i < usage.slots().size(); ++i) {
      const forecast::QuotaSlot& slot = usage.slots()[i];
      if (slot.flavor == flavor && slot.resource == resource)
        area_of_queue[slot.cluster_queue] += usage.track(i).area();
    }
  }
  std::vector<std::pair<double, std::string>> queues;
  for (const auto& [queue, area] : area_of_queue) queues.emplace_back(-area, queue);
  std::sort(queues.begin(), queues.end());
  for (auto& [area, queue] : queues) axis.queues.push_back(std::move(queue));
  return axis;
}

Axes axes_of(const std::vector<const Report*>& reports) {
  Axes axes;
  for (const Report* report : reports) {
    axes.seconds = std::max(axes.seconds, seconds_of(report->summary.elapsed.count()));
    axes.waiting = std::max(axes.waiting, report->history.usage.pending().most());
    axes.without_node = std::max(axes.without_node, report->history.nodes.pending().most());
    for (const UsageRow& row : report->summary.flavors) {
      const auto [axis, is_new] = axes.usage.try_emplace({row.flavor, row.resource});
      if (is_new) axis->second = usage_axis(reports, row.flavor, row.resource);
    }
    for (const std::string& set : report->history.flavor_sets) {
      if (std::find(axes.flavor_sets.begin(), axes.flavor_sets.end(), set) == axes.flavor_sets.end())
        axes.flavor_sets.push_back(set);
    }
  }
  return axes;
}

// The queues with the highest usage, and all others as one series.
std::vector<Series> series_of(const Report& report, const UsageRow& of, const UsageAxis& axis) {
  const forecast::UsageTracks& usage = report.history.usage;
  std::vector<Series> series;
  for (size_t i = 0; i < std::min(axis.queues.size(), kMostQueues); ++i) series.push_back({axis.queues[i], {}});
  if (axis.queues.size() > kMostQueues)
    series.push_back({std::to_string(axis.queues.size() - kMostQueues) + " others", {}});
  for (size_t i = 0; i < usage.slots().size(); ++i) {
    const forecast::QuotaSlot& slot = usage.slots()[i];
    if (slot.flavor != of.flavor || slot.resource != of.resource) continue;
    const auto place = std::find(axis.queues.begin(), axis.queues.end(), slot.cluster_queue) - axis.queues.begin();
    std::vector<double>& sum = series[std::min(static_cast<size_t>(place), kMostQueues)].values;
    const std::vector<double> values = usage.track(i).averages(usage.width(), usage.end());
    sum.resize(std::max(sum.size(), values.size()));
    for (size_t span = 0; span < values.size(); ++span) sum[span] += values[span];
  }
  return series;
}

std::string usage_plots(const Report& report, const Axes& axes) {
  std::string text = "<h2>Usage by queue</h2>\n";
  for (size_t i = 0; i < std::min(report.summary.flavors.size(), kMostPlots); ++i) {
    const UsageRow& of = report.summary.flavors[i];
    const UsageAxis& axis = axes.usage.at({of.flavor, of.resource});
    const auto amount = [&](int64_t value) { return readable_quantity(of.resource, to_quantity(of.resource, value)); };
    const std::vector<Series> series = series_of(report, of, axis);
    text += "<h3>" + escape_xml(of.flavor + ", " + of.resource) + "</h3>\n";
    text += stacked_plot({.title = "Usage of " + of.flavor + ", " + of.resource,
                          .seconds = axes.seconds,
                          .covered = seconds_of(report.summary.elapsed.count()),
                          .most = static_cast<double>(axis.most),
                          .most_text = amount(axis.most),
                          .limit = static_cast<double>(of.nominal),
                          .limit_text = "nominal quota " + amount(of.nominal)},
                         series);
    std::vector<std::string> names;
    for (const Series& one : series) names.push_back(one.name);
    text += legend(names, Palette::kQueues);
  }
  return text;
}

// A number over time: jobs that wait, pods without a node.
std::string counts_plot(const char* title, const forecast::UsageTracks& tracks, int64_t most, const Report& report,
                        const Axes& axes) {
  return stacked_plot({.title = title,
                       .seconds = axes.seconds,
                       .covered = seconds_of(report.summary.elapsed.count()),
                       .most = static_cast<double>(most),
                       .most_text = std::to_string(most),
                       .of_queues = false},
                      {{title, tracks.pending().averages(tracks.width(), tracks.end())}});
}

std::string waiting_plot(const Report& report, const Axes& axes) {
  return "<h2>Jobs that wait</h2>\n" + counts_plot("Jobs that wait", report.history.usage, axes.waiting, report, axes);
}

// Of pods whose job is admitted.
std::string nodes_plot(const Report& report, const Axes& axes) {
  if (!report.summary.knows_nodes) return "";
  std::vector<std::vector<std::string>> rows;
  for (const forecast::NodeRow& row : report.summary.nodes) {
    const auto amount = [&](double value) {
      return readable_quantity(row.resource, to_quantity(row.resource, std::llround(value)));
    };
    rows.push_back({row.flavor, std::to_string(row.nodes), row.resource, amount(static_cast<double>(row.allocatable)),
                    amount(static_cast<double>(row.others)), amount(row.mean), amount(static_cast<double>(row.most))});
  }
  return "<h2>Pods without a node</h2>\n" +
         counts_plot("Pods without a node", report.history.nodes, axes.without_node, report, axes) +
         table({"Nodes of", "Nodes", "Resource", "Allocatable", "Other pods", "Mean", "Most"}, rows);
}

std::string gantt(const Report& report, const Axes& axes) {
  const double end = seconds_of(report.summary.elapsed.count());
  std::map<uint32_t, std::vector<const forecast::Stay*>> stays;
  for (const forecast::Stay& stay : report.history.stays) {
    if (stay.job < kMostJobs) stays[stay.job].push_back(&stay);
  }
  const auto color_of = [&](const std::string& set) {
    return static_cast<size_t>(std::find(axes.flavor_sets.begin(), axes.flavor_sets.end(), set) -
                               axes.flavor_sets.begin());
  };
  std::vector<GanttRow> rows;
  for (uint32_t job = 0; job < std::min(report.history.jobs.size(), kMostJobs); ++job) {
    if (report.history.jobs[job].fate == forecast::Fate::kNotCome) continue;
    GanttRow row_of{.name = job_name(report.scenario, job), .bars = {}};
    double since = seconds_of(report.scenario.arrivals[job].at.count());
    for (const forecast::Stay* stay : stays[job]) {
      const double from = seconds_of(stay->from), to = stay->to == kNever ? end : seconds_of(stay->to);
      if (from > since)
        row_of.bars.push_back(
            {.from = since, .to = from, .waits = true, .text = row_of.name + " waits " + span_text(from - since)});
      const double placed = stay->placed == kNever ? to : std::min(seconds_of(stay->placed), to);
      if (placed > from)
        row_of.bars.push_back({.from = from,
                               .to = placed,
                               .waits = true,
                               .evicted = stay->ended_by_eviction && placed >= to,
                               .text = row_of.name + " waits for nodes " + span_text(placed - from)});
      if (placed == from || placed < to)
        row_of.bars.push_back({.from = placed,
                               .to = to,
                               .color = color_of(report.history.flavor_sets[stay->flavors]),
                               .evicted = stay->ended_by_eviction,
                               .text = row_of.name + " on " + report.history.flavor_sets[stay->flavors] + ", " +
                                       span_text(to - placed) + (stay->ended_by_eviction ? ", evicted" : "")});
      since = to;
    }
    if (report.history.jobs[job].end == kNever && (stays[job].empty() || stays[job].back()->to != kNever))
      row_of.bars.push_back({.from = since, .to = end, .waits = true, .text = row_of.name + " waits at the end"});
    rows.push_back(std::move(row_of));
  }
  std::string text = "<h2>Jobs</h2>\n<p>A thin bar: it waits. A red border: it was evicted.";
  if (report.history.jobs.size() > kMostJobs)
    text += " The first " + std::to_string(kMostJobs) + " of " + std::to_string(report.history.jobs.size()) + " jobs.";
  return text + "</p>\n" + legend(axes.flavor_sets, Palette::kFlavors) + gantt_plot(axes.seconds, rows);
}

std::string tables(const Report& report) {
  std::vector<std::vector<std::string>> waits, ends;
  for (const WaitGroup& group : report.summary.groups) {
    const auto span = [&](double value) { return group.waits.jobs == 0 ? "-" : span_text(value); };
    waits.push_back({group.queue, group.priority_class, std::to_string(group.jobs), std::to_string(group.never_started),
                     span(group.waits.mean), span(group.waits.p50), span(group.waits.p99), span(group.waits.most),
                     std::to_string(group.evictions)});
  }
  for (const forecast::Waiting& waiting : report.history.waiting)
    ends.push_back({job_name(report.scenario, waiting.job), waiting.cluster_queue, waiting.reason, waiting.message});
  std::string text =
      "<h2>Waits by queue and class</h2>\n" +
      table({"Queue", "Class", "Jobs", "Never started", "Mean", "p50", "p99", "Longest", "Evictions"}, waits);
  if (!ends.empty()) text += "<h2>Waiting at the end</h2>\n" + table({"Job", "ClusterQueue", "Reason", "Why"}, ends);
  std::vector<std::vector<std::string>> without_node;
  for (const forecast::WithoutNode& one : report.history.without_node)
    without_node.push_back({job_name(report.scenario, one.job), one.pod_set,
                            std::to_string(one.pods) + " of " + std::to_string(one.of), one.message});
  if (!without_node.empty())
    text += "<h2>Pods without a node at the end</h2>\n" + table({"Job", "Pod set", "Pods", "Why"}, without_node);
  std::vector<std::string> notes = report.notes;
  notes.insert(notes.end(), report.history.notes.begin(), report.history.notes.end());
  for (const std::string& note : notes) text += "<p>Note: " + escape_xml(note) + "</p>\n";
  return text;
}

std::string body(const Report& report, const Axes& axes) {
  return heads(report) + expectations(report) + usage_plots(report, axes) + waiting_plot(report, axes) +
         nodes_plot(report, axes) + gantt(report, axes) + tables(report);
}

// The figures that a change of a configuration is judged by.
std::string differences(const Report& before, const Report& after) {
  std::vector<TableRow> rows = comparison_rows(before, after, true);
  TableRow head = std::move(rows.front());
  head.back() = "Change";
  rows.erase(rows.begin());
  return table(head, rows);
}

std::string page(const std::string& title, const char* open, const std::string& content) {
  return "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/>"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>"
         "<title>muster simulate: " +
         escape_xml(title) + "</title><style>" + kStyle + "</style></head>\n" + open + "\n<h1>muster simulate</h1>\n" +
         content + "<p>muster " + escape_xml(runtime::kVersion) + "</p>\n</body></html>\n";
}

}  // namespace

std::string report_page(const Report& report) {
  return page(report.name, "<body>", concluded(conclusion(report)) + body(report, axes_of({&report})));
}

std::string comparison_page(const Report& before, const Report& after) {
  const Axes axes = axes_of({&before, &after});
  return page(before.name + " and " + after.name, "<body class=\"two\">",
              concluded(conclusion(before, after)) + differences(before, after) + "<div class=\"sides\">\n<section>\n" +
                  body(before, axes) + "</section>\n<section>\n" + body(after, axes) + "</section>\n</div>\n");
}

}  // namespace muster::commands
