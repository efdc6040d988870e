// The children of a JobSet: its Jobs, its claims, and its headless Service. Values in, JSON out; pure.
//
// Names, labels and annotations are upstream's, exactly (kubernetes-sigs/jobset,
// pkg/controllers/jobset_controller.go; recorded in the vectors workload_names):
// programs inside the pods find their peers by them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/job.h"
#include "api/jobset.h"
#include "kinds/typed_object.h"

namespace muster::reconcilers {

// "<jobset>-<replicated job>-<job index>-<pod index>.<subdomain>": where the
// coordinator's pod is found. Empty when the JobSet has none.
std::string coordinator_endpoint(const JobSet& jobset);

// On Jobs and pods, with JobSet's gate ExecutionAttemptsTracking.
inline constexpr std::string_view kExecutionAttemptAnnotation = "jobset.sigs.k8s.io/execution-attempt";

struct ChildJobOptions {
  // Jobs and pods say how often the Job was restarted by itself.
  bool labels_job_restarts = false;
  // Of the pods; exclusive placement compares it.
  int32_t priority = 0;
  // Jobs and pods say to which run of the JobSet they belong.
  std::optional<int32_t> execution_attempt{};
  bool records_resources = false;  // kAppliedResourcesAnnotation
};

// Makes the Jobs of one replicated job for the JobSet's present attempt. The template's
// text is parsed once.
class ChildJobMaker {
 public:
  ChildJobMaker(const JobSet& owner, const ReplicatedJob& replicated, const ChildJobOptions& options = {});
  nlohmann::json make(int32_t index) const;

 private:
  const JobSet& jobset_;
  const ReplicatedJob& replicated_;
  const ChildJobOptions options_;
  nlohmann::json job_;     // all but what depends on the index
  nlohmann::json labels_;  // likewise
  nlohmann::json exclusive_;
  int64_t first_global_index_ = 0;
  int64_t first_group_index_ = 0;
};

// A claim of spec.volumeClaimPolicies. The JobSet owns it unless it is to be retained.
nlohmann::json volume_claim(const JobSet& jobset, const VolumeClaim& claim);

// The Service behind the pods' host names, with the ports of their containers.
nlohmann::json headless_service(const JobSet& jobset);

}  // namespace muster::reconcilers
