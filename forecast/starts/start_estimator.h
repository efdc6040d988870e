// Estimates of starts: several courses of the queues with run times drawn by chance, and of each Workload's starts in
// them a range that 8 of 10 lie in. Pure: the same scene, run times and seed give the same estimates, unless the work
// was cut short.
#pragma once

#include <functional>

#include "api/start_estimate.h"
#include "forecast/starts/start_course.h"

namespace muster::starts {

struct EstimateOptions {
  uint64_t seed = 1;
  // 10 n - 1 of them: then p10 and p90 are starts that were seen.
  size_t courses = 19;
  size_t most_workloads = 20'000;
  Duration horizon = std::chrono::hours(7 * 24);
  // CPU seconds of this thread, and how many can be used. Fewer courses then, and a nearer horizon. Empty: no limit.
  std::function<double()> cpu_seconds{};
  double budget = 2;
  // Where to put how many courses were made; null: nowhere.
  size_t* made = nullptr;
};

StartEstimates estimate_starts(StartScene scene, const QueueHistory& history, const QueueSettings& settings,
                               const EstimateOptions& options);

}  // namespace muster::starts
