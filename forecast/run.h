// Runs a Scenario in virtual time. The decisions are the product's own: the scheduler behind state/scheduler_driver.h,
// and the passes and statuses of reconcilers/workload. What is simulated is the rest: jobs come, their pods get ready
// and end, checks say Ready, and whoever is evicted stops. No clock, no JSON, nothing random but what the seed says:
// the same scenario gives the same History.
//
// A Workload that is over is forgotten, as by objectRetentionPolicies, so that the cost of a step does not depend on
// how many there were.
#pragma once

#include <functional>

#include "forecast/history.h"
#include "forecast/scenario.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"

namespace muster::forecast {

// Called now and then, for people who wait: virtual time, jobs that have come, and jobs that are over.
struct Progress {
  Duration elapsed;
  size_t come = 0;
  size_t over = 0;
};
using Watcher = std::function<void(const Progress&)>;

// Called when so much virtual time has gone by, as soon as something happens then: who estimates from a state, and
// wants to know what becomes of it.
struct Looks {
  Duration every{};
  std::function<void(const state::ClusterState& state, const state::SchedulerDriver& decisions, Now now)> look{};
};

History run(const Scenario& scenario, const Watcher& watcher = {}, const Looks& looks = {});

}  // namespace muster::forecast
