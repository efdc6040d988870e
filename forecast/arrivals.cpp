#include "forecast/arrivals.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "api/meta/names.h"
#include "base/whole_number.h"
#include "forecast/annotations.h"
#include "forecast/chance.h"

namespace muster::forecast {
namespace {

// A job runs at least this long with any random number: no job ends before it begins.
constexpr Duration kShortestRun = std::chrono::seconds(1);

class RowReader {
 public:
  RowReader(const std::map<std::string, size_t>& columns, const CsvRow& row) : columns_(columns), row_(row) {}

  const std::string& cell(const char* column) const { return row_.cells[columns_.at(column)]; }

  Result<ArrivalRow> read() const {
    ArrivalRow arrival{.line = row_.line};
    const auto at = parse_span(cell("time"));
    if (!at) return wrong("time", at.error().message);
    const auto run_time = parse_span(cell("runTime"));
    if (!run_time) return wrong("runTime", run_time.error().message);
    arrival.at = *at;
    arrival.run_time = *run_time;
    PlainJob& job = arrival.job;
    job.ns = cell("namespace");
    job.queue = cell("queue");
    job.name = cell("name");
    job.priority_class = cell("class");
    for (const char* column : {"namespace", "queue", "name"}) {
      if (const auto errors = dns_errors(cell(column)); !errors.empty()) return wrong(column, errors);
    }
    const auto count = whole_number<int32_t>(cell("count"));
    if (!count || *count < 1) return wrong("count", "must be a number of pods, at least 1");
    job.count = *count;
    const auto requests = parse_amounts(cell("requests"));
    if (!requests) return wrong("requests", requests.error().message);
    for (const auto& [resource, quantity] : *requests) job.requests[resource] = quantity.text();
    return arrival;
  }

 private:
  static std::string dns_errors(const std::string& name) {
    if (name.empty()) return "is empty";
    const auto errors = is_dns1123_subdomain(name);
    return errors.empty() ? "" : errors.front();
  }
  Failure<Error> wrong(const char* column, const std::string& sentence) const {
    return fail("line " + std::to_string(row_.line) + ", column " + column + ": " + sentence);
  }

  const std::map<std::string, size_t>& columns_;
  const CsvRow& row_;
};

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = {"time",  "namespace", "queue",    "name",
                                                 "class", "count",     "requests", "runTime"};
  return names;
}

Result<std::map<std::string, size_t>> read_header(const CsvRow& header) {
  std::map<std::string, size_t> columns;
  const std::vector<std::string>& names = column_names();
  for (size_t i = 0; i < header.cells.size(); ++i) {
    const std::string& name = header.cells[i];
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fail("line 1: there is no column \"" + name + "\"; there are " + join(names, ","));
    if (!columns.emplace(name, i).second) return fail("line 1: column " + name + " is there twice");
  }
  for (const std::string& name : names) {
    if (!columns.contains(name)) return fail("line 1: column " + name + " is missing; there are " + join(names, ","));
  }
  return columns;
}

}  // namespace

std::vector<Arrival> random_arrivals(const RandomArrivals& random, const std::vector<JobShape>& shapes) {
  std::vector<double> sums;
  double sum = 0;
  for (const JobShape& shape : shapes) sums.push_back(sum += shape.weight);
  std::vector<Arrival> arrivals;
  if (sum <= 0 || random.jobs == 0) return arrivals;
  arrivals.reserve(random.jobs);
  // Separate random streams: another spread does not change the arrivals of jobs.
  Chance when(random.seed, 1), which(random.seed, 2), how_long(random.seed, 3);
  const double mean = static_cast<double>(random.over.count()) / random.jobs;
  double at = 0;
  for (uint32_t i = 0; i < random.jobs; ++i) {
    at += when.exponential(mean);
    const auto chosen = std::upper_bound(sums.begin(), sums.end(), which.share() * sum);
    const uint32_t shape = static_cast<uint32_t>(std::min<long>(chosen - sums.begin(), std::ssize(sums) - 1));
    const double stretch = std::exp(random.spread * how_long.normal());
    Arrival arrival{.shape = shape, .at = Duration(static_cast<int64_t>(at)), .serial = i + 1};
    if (const auto& run_time = shapes[shape].run_time) {
      const double nanoseconds = std::min(static_cast<double>(run_time->count()) * stretch, kLongestSpan.count() * 1.0);
      arrival.run_time = std::max(Duration(static_cast<int64_t>(nanoseconds)), kShortestRun);
    }
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

Result<std::vector<CsvRow>> read_csv(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<CsvRow> rows;
  CsvRow row{.line = 1, .cells = {""}};
  size_t line = 1;
  bool quoted = false;
  const auto end_row = [&] {
    if (row.cells.size() > 1 || !row.cells.front().empty()) rows.push_back(std::move(row));
    row = {.line = line, .cells = {""}};
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '\n') ++line;
    if (quoted) {
      if (letter != '"') {
        row.cells.back() += letter;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        row.cells.back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (letter == '"' && row.cells.back().empty()) {
      quoted = true;
    } else if (letter == ',') {
      row.cells.emplace_back();
    } else if (letter == '\n') {
      end_row();
    } else if (letter != '\r') {
      row.cells.back() += letter;
    }
  }
  if (quoted) return fail("line " + std::to_string(row.line) + ": a quote is not closed");
  end_row();
  return rows;
}

Result<std::vector<ArrivalRow>> read_arrivals(std::string_view csv) {
  const auto rows = read_csv(csv);
  if (!rows) return fail(rows.error().message);
  if (rows->empty()) return fail("line 1: there is no header; write " + join(column_names(), ","));
  const auto columns = read_header(rows->front());
  if (!columns) return fail(columns.error().message);
  std::vector<ArrivalRow> arrivals;
  for (size_t i = 1; i < rows->size(); ++i) {
    const CsvRow& row = (*rows)[i];
    if (row.cells.size() != columns->size())
      return fail("line " + std::to_string(row.line) + ": has " + std::to_string(row.cells.size()) +
                  " cells, and the header has " + std::to_string(columns->size()));
    auto arrival = RowReader(*columns, row).read();
    if (!arrival) return fail(arrival.error().message);
    arrivals.push_back(*std::move(arrival));
  }
  return arrivals;
}

}  // namespace muster::forecast
