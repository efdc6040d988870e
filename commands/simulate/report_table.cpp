#include <algorithm>
#include <cmath>
#include <cstdio>

#include "api/meta/readable_quantity.h"
#include "api/requests.h"
#include "commands/simulate/report.h"
#include "commands/terminal/escape.h"
#include "commands/terminal/text_table.h"
#include "scheduler/eligibility.h"

namespace muster::commands {
namespace {

using forecast::Summary;
using forecast::UsageRow;
using forecast::WaitGroup;
using forecast::Waiting;

constexpr size_t kMostTableRows = 25;

std::string count(size_t number) {
  return std::to_string(number);
}

std::string share(double part, int64_t whole) {
  if (whole <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.0f%%", 100 * part / static_cast<double>(whole));
  return text;
}

std::string amount(const std::string& resource, double value) {
  return readable_quantity(resource, to_quantity(resource, std::llround(value)));
}

// Without an admitted job no wait has ended.
std::string wait(const forecast::Waits& waits, double seconds) {
  return waits.jobs == 0 ? "-" : span_text(seconds);
}

// Of a long table the first rows, and a word on the others.
std::string limited(std::vector<TableRow> rows) {
  const size_t more = rows.size() > kMostTableRows + 1 ? rows.size() - kMostTableRows - 1 : 0;
  if (more > 0) rows.resize(kMostTableRows + 1);
  for (TableRow& row : rows) {
    for (std::string& cell : row) cell = on_one_line(cell);
  }
  return text_table(rows) + (more > 0 ? "... and " + count(more) + " more: -o json has all\n" : "");
}

std::string table_heads(const Report& report) {
  const Summary& summary = report.summary;
  std::string text =
      count(summary.jobs) + " jobs in " + span_text(std::chrono::duration<double>(summary.elapsed).count()) +
      " of simulated time: " + count(summary.finished) + " finished, " + count(summary.running) + " running, " +
      count(summary.waiting) + " waiting, " + count(summary.deactivated) + " deactivated\n";
  text += "waits until the first admission: mean " + span_text(summary.waits.mean) + ", p50 " +
          span_text(summary.waits.p50) + ", p99 " + span_text(summary.waits.p99) + ", longest " +
          span_text(summary.waits.most) + "; at most " + count(summary.most_pending) + " jobs waited at once\n";
  return text + count(summary.evictions) + " evictions, " + count(summary.preemptions) + " of them preemptions and " +
         count(summary.fallbacks) + " flavor fallbacks\n";
}

// The longest waits first.
std::string waits_table(const Summary& summary) {
  std::vector<const WaitGroup*> groups;
  for (const WaitGroup& group : summary.groups) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(), [](const WaitGroup* a, const WaitGroup* b) {
    if ((a->never_started > 0) != (b->never_started > 0)) return a->never_started > 0;
    return a->waits.p99 > b->waits.p99;
  });
  std::vector<TableRow> rows = {{"QUEUE", "CLASS", "JOBS", "STARTED", "NEVER", "MEAN", "P50", "P99", "LONGEST",
                                 "EVICTED", "PREEMPTED", "FALLBACKS"}};
  for (const WaitGroup* group : groups) {
    rows.push_back({group->queue, group->priority_class.empty() ? "-" : group->priority_class, count(group->jobs),
                    count(group->jobs - group->never_started), count(group->never_started),
                    wait(group->waits, group->waits.mean), wait(group->waits, group->waits.p50),
                    wait(group->waits, group->waits.p99), wait(group->waits, group->waits.most),
                    count(group->evictions), count(group->preemptions), count(group->fallbacks)});
  }
  return limited(std::move(rows));
}

std::string usage_table(const Summary& summary) {
  std::vector<TableRow> rows = {{"FLAVOR", "RESOURCE", "QUOTA", "MEAN", "MEAN %", "MOST"}};
  for (const UsageRow& row : summary.flavors) {
    rows.push_back({row.flavor, row.resource, amount(row.resource, static_cast<double>(row.nominal)),
                    amount(row.resource, row.mean), share(row.mean, row.nominal),
                    amount(row.resource, static_cast<double>(row.most))});
  }
  return limited(std::move(rows));
}

// With nodes that are known: what is used of them, and how long admitted jobs waited for them.
std::string nodes_table(const Summary& summary) {
  if (!summary.knows_nodes) return "";
  std::vector<TableRow> rows = {
      {"NODES OF", "NODES", "RESOURCE", "ALLOCATABLE", "OTHER PODS", "MEAN", "MEAN %", "MOST"}};
  for (const forecast::NodeRow& row : summary.nodes) {
    rows.push_back({row.flavor, std::to_string(row.nodes), row.resource,
                    amount(row.resource, static_cast<double>(row.allocatable)),
                    amount(row.resource, static_cast<double>(row.others)), amount(row.resource, row.mean),
                    share(row.mean, row.allocatable), amount(row.resource, static_cast<double>(row.most))});
  }
  const forecast::NodeWaits& waits = summary.node_waits;
  std::string text = "\n" + limited(std::move(rows)) + count(waits.waited) + " admissions waited for nodes";
  if (waits.waits.jobs > 0)
    text += ": mean " + span_text(waits.waits.mean) + ", p99 " + span_text(waits.waits.p99) + ", longest " +
            span_text(waits.waits.most);
  if (waits.in_vain > 0) text += "; " + count(waits.in_vain) + " of them in vain";
  return text + "; at most " + count(waits.most_pods) + " pods had no node at once\n";
}

std::string without_node_table(const Report& report) {
  if (report.history.without_node.empty()) return "";
  std::vector<TableRow> rows = {{"PODS WITHOUT A NODE", "POD SET", "PODS", "WHY"}};
  for (const forecast::WithoutNode& one : report.history.without_node)
    rows.push_back({job_name(report.scenario, one.job), one.pod_set,
                    std::to_string(one.pods) + " of " + std::to_string(one.of), one.message});
  return "\n" + limited(std::move(rows));
}

std::string evictions_table(const Summary& summary) {
  if (summary.evictions_by_queue.empty() && summary.deactivations.empty()) return "";
  std::vector<TableRow> rows = {{"CLUSTERQUEUE", "REASON", "COUNT"}};
  for (const auto& [queue, reasons] : summary.evictions_by_queue) {
    for (const auto& [reason, number] : reasons) rows.push_back({queue, "evicted: " + reason, count(number)});
  }
  for (const auto& [reason, number] : summary.deactivations)
    rows.push_back({"-", "deactivated: " + reason, count(number)});
  return "\n" + limited(std::move(rows));
}

std::string waiting_table(const Report& report) {
  if (report.history.waiting.empty()) return "";
  std::vector<TableRow> rows = {{"WAITS AT THE END", "CLUSTERQUEUE", "REASON", "WHY"}};
  for (const Waiting& waiting : report.history.waiting)
    rows.push_back({job_name(report.scenario, waiting.job), waiting.cluster_queue.empty() ? "-" : waiting.cluster_queue,
                    waiting.reason.empty() ? "-" : waiting.reason, waiting.message});
  std::string text = "\n" + limited(std::move(rows));
  std::vector<TableRow> queues = {{"CLUSTERQUEUE", "WAITING", "QUOTA IS HELD BY"}};
  for (const forecast::QueueAtEnd& queue : report.history.queues_at_end) {
    std::string holders;
    for (const std::string& name : queue.holders) holders += (holders.empty() ? "" : ", ") + name;
    if (queue.all_holders > queue.holders.size())
      holders += " and " + count(queue.all_holders - queue.holders.size()) + " more";
    if (holders.empty()) holders = "nobody";
    if (!queue.inactive.empty()) holders = "admits nothing: " + queue.inactive;
    queues.push_back({queue.cluster_queue, count(queue.pending), holders});
  }
  return queues.size() > 1 ? text + "\n" + limited(std::move(queues)) : text;
}

std::string expectations_text(const Report& report) {
  std::string text;
  for (const CheckedExpectation& checked : report.expectations)
    text += on_one_line((checked.holds ? "holds: " : "FAILS: ") + checked.name + " (" + checked.found + ")") + "\n";
  return text.empty() ? "" : "\n" + text;
}

std::string notes_text(const Report& report) {
  std::string text;
  for (const std::string& note : report.notes) text += "note: " + on_one_line(note) + "\n";
  for (const std::string& note : report.history.notes) text += "note: " + on_one_line(note) + "\n";
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string span_text(double seconds) {
  if (std::isinf(seconds)) return "without end";
  const auto all = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  const auto two = [](int64_t big, const char* its, int64_t small, const char* smaller) {
    return std::to_string(big) + its + (small > 0 ? std::to_string(small) + smaller : "");
  };
  if (all < 60) return std::to_string(all) + "s";
  if (all < 3600) return two(all / 60, "m", all % 60, "s");
  if (all < 86'400) return two(all / 3600, "h", all % 3600 / 60, "m");
  return two(all / 86'400, "d", all % 86'400 / 3600, "h");
}

std::string report_table(const Report& report) {
  return table_heads(report) + "\n" + waits_table(report.summary) + "\n" + usage_table(report.summary) +
         nodes_table(report.summary) + evictions_table(report.summary) + waiting_table(report) +
         without_node_table(report) + notes_text(report) + expectations_text(report);
}

std::vector<TableRow> comparison_rows(const Report& before, const Report& after, bool all) {
  const auto change = [](double from, double to) {
    const double by = to - from;
    return (by < 0 ? "-" : "+") + span_text(std::abs(by));
  };
  std::vector<TableRow> rows = {{"", before.name, after.name, "CHANGE"}};
  const auto add_span = [&](const std::string& what, double from, double to) {
    rows.push_back({what, span_text(from), span_text(to), change(from, to)});
  };
  const auto add_count = [&](const std::string& what, size_t from, size_t to) {
    rows.push_back({what, count(from), count(to), (to < from ? "-" : "+") + count(to < from ? from - to : to - from)});
  };
  const Summary &a = before.summary, &b = after.summary;
  if (all) add_span("simulated time", seconds_of(a.elapsed.count()), seconds_of(b.elapsed.count()));
  add_count("jobs", a.jobs, b.jobs);
  add_count("finished", a.finished, b.finished);
  add_count("never started", a.never_started, b.never_started);
  if (all) {
    add_count("waiting at the end", a.waiting, b.waiting);
    add_count("deactivated", a.deactivated, b.deactivated);
    add_count("flavor fallbacks", a.fallbacks, b.fallbacks);
  }
  add_count("evictions", a.evictions, b.evictions);
  add_count("preemptions", a.preemptions, b.preemptions);
  add_span("wait, mean", a.waits.mean, b.waits.mean);
  add_span("wait, p99", a.waits.p99, b.waits.p99);
  if (all) add_span("wait, longest", a.waits.most, b.waits.most);
  if (a.knows_nodes || b.knows_nodes) {
    add_count("admissions that waited for nodes", a.node_waits.waited, b.node_waits.waited);
    add_span("wait for nodes, p99", a.node_waits.waits.p99, b.node_waits.waits.p99);
  }
  std::map<std::pair<std::string, std::string>, std::pair<const WaitGroup*, const WaitGroup*>> groups;
  for (const WaitGroup& group : a.groups) groups[{group.queue, group.priority_class}].first = &group;
  for (const WaitGroup& group : b.groups) groups[{group.queue, group.priority_class}].second = &group;
  for (const auto& [key, both] : groups) {
    static const WaitGroup kNone;
    const WaitGroup& from = both.first ? *both.first : kNone;
    const WaitGroup& to = both.second ? *both.second : kNone;
    const std::string name = key.first + (key.second.empty() ? "" : ", class " + key.second);
    add_span(name + ": mean", from.waits.mean, to.waits.mean);
    add_span(name + ": p99", from.waits.p99, to.waits.p99);
    if (from.never_started + to.never_started > 0)
      add_count(name + ": never started", from.never_started, to.never_started);
  }
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> usage;
  for (const UsageRow& row : a.flavors) usage[{row.flavor, row.resource}].first = share(row.mean, row.nominal);
  for (const UsageRow& row : b.flavors) usage[{row.flavor, row.resource}].second = share(row.mean, row.nominal);
  for (const auto& [key, both] : usage) {
    rows.push_back({"usage of " + key.first + ", " + key.second, both.first.empty() ? "-" : both.first,
                    both.second.empty() ? "-" : both.second, ""});
  }
  return rows;
}

std::string comparison_table(const Report& before, const Report& after) {
  return limited(comparison_rows(before, after, false)) + notes_text(before) + notes_text(after) +
         expectations_text(after);
}

}  // namespace muster::commands
