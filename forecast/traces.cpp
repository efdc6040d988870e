#include "forecast/traces.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/meta/time.h"
#include "base/did_you_mean.h"
#include "base/whole_number.h"
#include "forecast/annotations.h"

namespace muster::forecast {
namespace {

using nlohmann::json;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr int64_t kMostOfOne = 1'000'000;  // pods, GPUs or CPUs of one job
constexpr int64_t kLongestRunSeconds = kLongestSpan / std::chrono::seconds(1);

// "2020-06-09 18:41:01"; nullopt: no time.
std::optional<int64_t> seconds_of(std::string_view text) {
  std::string rfc(text);
  if (rfc.size() != 19 || rfc[10] != ' ') return std::nullopt;
  rfc[10] = 'T';
  const auto time = parse_rfc3339(rfc + "Z");
  if (!time) return std::nullopt;
  return time->seconds;
}

// The names of virtual clusters and jobs in the simulation. Two with the same name would be one queue.
class Names {
 public:
  Result<std::string> queue_of(const std::string& virtual_cluster) {
    std::string name = lower(virtual_cluster);
    if (const auto errors = is_dns1123_subdomain(name); name.empty() || !errors.empty())
      return fail("the virtual cluster \"" + virtual_cluster + "\" is no name of a LocalQueue");
    const auto [known, is_new] = queues_.emplace(name, virtual_cluster);
    if (!is_new && known->second != virtual_cluster)
      return fail("the virtual clusters \"" + known->second + "\" and \"" + virtual_cluster +
                  "\" would both be the LocalQueue " + name);
    return name;
  }
  static Result<std::string> job_of(const std::string& id) {
    std::string name = lower(id);
    std::replace(name.begin(), name.end(), '_', '-');
    if (!name.empty() && name.front() >= '0' && name.front() <= '9') name = "job-" + name;
    if (const auto errors = is_dns1123_subdomain(name); name.empty() || !errors.empty())
      return fail("the id \"" + id + "\" is no name of a job");
    return name;
  }

 private:
  static std::string lower(std::string text) {
    for (char& letter : text) letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    return text;
  }
  std::map<std::string, std::string> queues_;
};

// Rows with times since 1970, which are converted to times since the first row.
class Rows {
 public:
  void add(int64_t submitted, ArrivalRow row) { rows_.emplace_back(submitted, std::move(row)); }
  void leave_out() { ++left_out_; }

  Trace finish() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Trace trace;
    trace.rows.reserve(rows_.size());
    for (auto& [submitted, row] : rows_) {
      row.at = std::chrono::seconds(std::min(submitted - rows_.front().first, kLongestRunSeconds));
      trace.rows.push_back(std::move(row));
    }
    if (left_out_ > 0)
      trace.notes.push_back(std::to_string(left_out_) +
                            " job(s) of the trace have no time of submission, start or end and are left out");
    return trace;
  }

 private:
  std::vector<std::pair<int64_t, ArrivalRow>> rows_;
  size_t left_out_ = 0;
};

int64_t share(int64_t amount, int64_t parts) {
  return (amount + parts - 1) / parts;
}

// --- Helios ---

using Columns = std::map<std::string, size_t, std::less<>>;

Result<Columns> helios_columns(const CsvRow& header) {
  Columns columns;
  for (size_t i = 0; i < header.cells.size(); ++i) columns.emplace(header.cells[i], i);
  for (const char* name : {"job_id", "vc", "gpu_num", "cpu_num", "node_num", "submit_time", "start_time", "end_time"}) {
    if (!columns.contains(name))
      return fail("line 1: column " + std::string(name) + " is missing; this is no cluster_log.csv of Helios");
  }
  return columns;
}

class HeliosRow {
 public:
  HeliosRow(const Columns& columns, const CsvRow& row) : columns_(columns), row_(row) {}

  Outcome<> add_to(Rows& rows, Names& names, const std::string& ns) const {
    const auto submitted = seconds_of(cell("submit_time"));
    const auto started = seconds_of(cell("start_time")), ended = seconds_of(cell("end_time"));
    if (!submitted || !started || !ended || *ended < *started) {
      rows.leave_out();
      return Done{};
    }
    const auto nodes = number("node_num", 1), gpus = number("gpu_num", 0), cpus = number("cpu_num", 0);
    for (const auto* parsed : {&nodes, &gpus, &cpus}) {
      if (!*parsed) return fail(parsed->error().message);
    }
    auto queue = names.queue_of(cell("vc"));
    auto job = Names::job_of(cell("job_id"));
    if (!queue || !job) return fail(at_line() + (queue ? job.error() : queue.error()).message);
    ArrivalRow row{.line = row_.line,
                   .run_time = std::chrono::seconds(std::min(*ended - *started, kLongestRunSeconds))};
    row.job = {.ns = ns, .queue = *queue, .name = *job, .priority_class = "", .count = static_cast<int32_t>(*nodes)};
    if (*gpus > 0) row.job.requests[kGpu] = std::to_string(share(*gpus, *nodes));
    if (*cpus > 0) row.job.requests["cpu"] = std::to_string(share(*cpus, *nodes));
    rows.add(*submitted, std::move(row));
    return Done{};
  }

 private:
  const std::string& cell(std::string_view column) const { return row_.cells[columns_.find(column)->second]; }
  std::string at_line() const { return "line " + std::to_string(row_.line) + ": "; }

  Result<int64_t> number(std::string_view column, int64_t least) const {
    const auto value = whole_number<int64_t>(cell(column));
    if (!value || *value < least || *value > kMostOfOne)
      return fail("line " + std::to_string(row_.line) + ", column " + std::string(column) + ": must be a number from " +
                  std::to_string(least) + " to " + std::to_string(kMostOfOne));
    return *value;
  }

  const Columns& columns_;
  const CsvRow& row_;
};

// --- Philly ---

// GPUs on each server; empty: not recorded.
std::vector<int64_t> gpus_of(const json& attempt) {
  std::vector<int64_t> servers;
  for (const json& server : array_at(attempt, {"detail"})) {
    if (const int64_t gpus = std::ssize(array_at(server, {"gpus"})); gpus > 0) servers.push_back(gpus);
  }
  return servers;
}

Outcome<> add_philly(const json& entry, size_t number, Rows& rows, Names& names, const std::string& ns) {
  const auto submitted = seconds_of(string_at(entry, {"submitted_time"}));
  int64_t ran = 0;
  bool is_timed = false;
  std::vector<int64_t> servers;
  for (const json& attempt : array_at(entry, {"attempts"})) {
    const auto started = seconds_of(string_at(attempt, {"start_time"}));
    const auto ended = seconds_of(string_at(attempt, {"end_time"}));
    is_timed = started && ended && *ended >= *started;
    // An unrecorded attempt before the last one is unknown; an unrecorded last attempt was still running.
    if (!is_timed) continue;
    ran += std::min(*ended - *started, kLongestRunSeconds);
    if (auto used = gpus_of(attempt); !used.empty()) servers = std::move(used);
  }
  if (!submitted || !is_timed || servers.empty()) {
    rows.leave_out();
    return Done{};
  }
  auto queue = names.queue_of(std::string(string_at(entry, {"vc"})));
  auto job = Names::job_of(std::string(string_at(entry, {"jobid"})));
  if (!queue || !job)
    return fail("job " + std::to_string(number) + ": " + (queue ? job.error() : queue.error()).message);
  int64_t all = 0;
  for (const int64_t gpus : servers) all += gpus;
  const bool is_even =
      all == servers.front() * std::ssize(servers) &&
      std::all_of(servers.begin(), servers.end(), [&](int64_t gpus) { return gpus == servers.front(); });
  ArrivalRow row{.line = number, .run_time = std::chrono::seconds(std::min(ran, kLongestRunSeconds))};
  row.job = {.ns = ns,
             .queue = *queue,
             .name = *job,
             .priority_class = "",
             .count = static_cast<int32_t>(std::min(is_even ? std::ssize(servers) : all, kMostOfOne))};
  row.job.requests[kGpu] = std::to_string(is_even ? servers.front() : 1);
  rows.add(*submitted, std::move(row));
  return Done{};
}

}  // namespace

Result<ArrivalsFormat> parse_arrivals_format(std::string_view text) {
  static const std::vector<std::string> names = {"csv", "helios", "philly"};
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<ArrivalsFormat>(found - names.begin());
  return fail("there is no format \"" + std::string(text) + "\"; there are csv, helios and philly" +
              did_you_mean(text, names));
}

Result<Trace> read_helios(std::string_view csv, const std::string& ns) {
  const auto table = read_csv(csv);
  if (!table) return fail(table.error().message);
  if (table->empty()) return fail("line 1: there is no header; this is no cluster_log.csv of Helios");
  const auto columns = helios_columns(table->front());
  if (!columns) return fail(columns.error().message);
  Rows rows;
  Names names;
  for (size_t i = 1; i < table->size(); ++i) {
    const CsvRow& row = (*table)[i];
    if (row.cells.size() != table->front().cells.size())
      return fail("line " + std::to_string(row.line) + ": has " + std::to_string(row.cells.size()) +
                  " cells, and the header has " + std::to_string(table->front().cells.size()));
    if (auto added = HeliosRow(*columns, row).add_to(rows, names, ns); !added) return fail(added.error().message);
  }
  return rows.finish();
}

Result<Trace> read_philly(std::string_view json_text, const std::string& ns) {
  const auto jobs = parse_json(json_text);
  if (!jobs) return fail(jobs.error().message);
  if (!jobs->is_array()) return fail("must be a list of jobs; this is no cluster_job_log of Philly");
  Rows rows;
  Names names;
  size_t number = 0;
  for (const json& entry : *jobs) {
    if (auto added = add_philly(entry, ++number, rows, names, ns); !added) return fail(added.error().message);
  }
  return rows.finish();
}

}  // namespace muster::forecast
