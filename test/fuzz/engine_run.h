// One life of the engine among stored objects that are odd: its real reconcilers, an API server
// that carries out most of what it writes, and users that change the structure of what is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::fuzz {

struct EngineRun {
  // "quota workloads/default/job-runs: scheduler/quota/ledger.cpp:53: ..."; none in a good run.
  std::vector<std::string> breakages;
  // The step that took the most CPU time of its thread, and how much.
  std::string slowest_step;
  double slowest_seconds = 0;
};

// Also asks explain, gauges, and all rules, about every object.
EngineRun run_engine(uint64_t seed);

}  // namespace muster::fuzz
