// A JobSet whose Jobs all exist and run.
#pragma once

#include "test/reconcilers/jobset/jobset_cluster.h"

namespace muster::test {

inline const Texts kCreateAll = {"create services/train", "create jobs/train-driver-0", "create jobs/train-workers-0",
                                 "create jobs/train-workers-1"};

// Everything exists and runs, and the status says so.
inline JobSetCluster running(json spec = json::object()) {
  JobSetCluster cluster(train_jobset(std::move(spec)));
  cluster.settle();
  cluster.run_all();
  cluster.settle();
  cluster.events.clear();
  cluster.writes.clear();
  return cluster;
}

inline json restarting(int max_restarts, const char* strategy = "Recreate") {
  return {{"failurePolicy", {{"maxRestarts", max_restarts}, {"restartStrategy", strategy}}}};
}

}  // namespace muster::test
