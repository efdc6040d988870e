// Queued jobs and their Workloads.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "reconcilers/job/job_workload.h"
#include "test/support/queue_objects.h"
#include "test/support/reconciled_cluster.h"

namespace muster::test {

class JobCluster : public ReconciledCluster {
 public:
  explicit JobCluster(ReconcilerSettings given = {}, world::ApiServerOptions options = {})
      : ReconciledCluster({&reconcilers::job_workload_reconciler}, std::move(given), options) {}

  // As the Job controller does it: the Job has no pods any more.
  void stop_pods(const std::string& job) {
    edit(kJobs, job, [&](json& object) {
      object["status"] = {{"conditions", json::array({condition_at(stamp(), "Suspended", "True", "JobSuspended")})}};
    });
  }
};

// In LocalQueue "q".
inline json queued_job(int pods) {
  return {{"metadata", {{"uid", "job-uid"}, {"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
          {"spec", {{"suspend", true}, {"parallelism", pods}, {"completions", pods}, {"template", pod_template_of()}}}};
}

// True since half an hour before the clock of the tests.
inline json true_condition(const char* type, const char* reason, const char* message = "") {
  return condition_at("2026-01-01T11:30:00Z", type, "True", reason, message);
}

}  // namespace muster::test
