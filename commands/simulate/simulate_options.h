// The command line of `muster simulate`, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "commands/kubectl/cluster_flags.h"
#include "commands/review/review.h"
#include "commands/simulate/report.h"
#include "forecast/traces.h"

namespace muster::commands {

struct SimulateOptions {
  SourceNames sources{};
  std::string
      config_file{};  // as for `muster serve`; empty: every kind that muster queues, and watchNodes, are enabled
  std::string arrivals_file{};
  std::optional<forecast::ArrivalsFormat> arrivals_format{};  // nullopt: CSV
  std::optional<uint64_t> seed{};
  uint32_t jobs = 0;  // random arrivals; 0: as the jobs say
  std::optional<Duration> over{};
  double spread = 0.8;
  std::optional<Duration> until{};
  Duration run_time = std::chrono::hours(1);
  Duration stop_time = std::chrono::seconds(10);
  SimulateFormat format = SimulateFormat::kTable;
  std::string expect_file{};
  SourceNames compared{};   // --compare
  std::string page_file{};  // --html
  std::string job_file{};   // --job: the one that is asked about
  bool from_cluster = false;
  bool ignore_nodes = false;
  ClusterFlags cluster{};
  bool progress = false;      // on `err`
  std::string replay_file{};  // --replay: a recording of `muster serve`, instead of all the above but the configuration
  size_t most_differences = 20;  // of these, in the table
};

}  // namespace muster::commands
