// The history of one simulation in what people and programs read. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/start_estimate.h"
#include "base/result.h"
#include "commands/simulate/expectations.h"
#include "commands/terminal/text_table.h"
#include "forecast/scenario_reader.h"
#include "forecast/summary.h"

namespace muster::commands {

// When the job of --job would be admitted if all run times are short (p10), and if all are long (p90).
struct StartRange {
  int64_t earliest = forecast::kNever, latest = forecast::kNever;  // as JobRecord::first_start
  StartBasis basis{};
};

struct Report {
  std::string name;  // of the input: "queues/"
  forecast::Scenario scenario;
  forecast::History history;
  forecast::Summary summary;
  std::vector<std::string> notes;
  std::vector<CheckedExpectation> expectations{};
  std::optional<size_t> asked{};      // the job of --job, in the scenario's arrivals
  std::optional<StartRange> range{};  // where the cluster says how long its Workloads run
  std::string assumed{};              // ReadScenario::assumed
};

enum class SimulateFormat { kTable, kJson, kYaml, kCsv, kJunit };
Result<SimulateFormat> parse_simulate_format(std::string_view text);

// Tables for a terminal. Long ones end after some rows and say so.
std::string report_table(const Report& report);
nlohmann::json report_json(const Report& report);
// Of Report::asked: whether it would be admitted, when, where and at whose cost.
std::string verdict_text(const Report& report);
nlohmann::json verdict_json(const Report& report);
// One row for each job.
std::string report_csv(const Report& report);
// One test case for each expectation.
std::string report_junit(const Report& report);
// Two configurations side by side.
std::string comparison_table(const Report& before, const Report& after);
// Its rows, of which the first is the head. `all`: also the figures that the table of a terminal leaves out.
std::vector<TableRow> comparison_rows(const Report& before, const Report& after, bool all);
// What it comes to, in a sentence or two: who never starts, how long the others wait, and what a change changes.
std::string conclusion(const Report& report);
std::string conclusion(const Report& before, const Report& after);
nlohmann::json comparison_json(const Report& before, const Report& after);

// Without the name of the job.
nlohmann::json without_node_json(const forecast::WithoutNode& pods);

// Of the times in a History.
inline double seconds_of(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / forecast::kSecond;
}
// "37s", "12m5s", "3h4m", "2d5h".
std::string span_text(double seconds);

}  // namespace muster::commands
