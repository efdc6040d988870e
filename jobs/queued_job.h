// A Job or JobSet as the queues see it: what it asks for, how far it is, and the patches
// that start and stop it. Pure; what it points to must outlive it.
// Source: Kueue, pkg/controller/jobs/{job,jobset}.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/rule_settings.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/meta/resource_type.h"
#include "api/workload.h"
#include "base/result.h"
#include "jobs/pod_set_info.h"

namespace muster {

struct JobKind;

struct JobEnd {
  bool success = false;
  std::string message;  // of the job's own condition
};

class QueuedJob {
 public:
  explicit QueuedJob(const Job& job) : job_(&job) {}
  explicit QueuedJob(const JobSet& job_set) : jobset_(&job_set) {}

  const ResourceType& type() const { return job_ != nullptr ? kJobs : kJobSets; }
  const JobKind& kind() const;
  const ObjectMeta& meta() const { return job_ != nullptr ? job_->meta : jobset_->meta; }
  std::string_view managed_by() const { return job_ != nullptr ? job_->managed_by : jobset_->managed_by; }
  std::string_view queue_name() const;
  // The label kueue.x-k8s.io/priority-class; empty when absent.
  std::string_view priority_class() const;
  // Of the label kueue.x-k8s.io/max-exec-time-seconds; nullopt when it is none.
  std::optional<int32_t> maximum_execution_seconds() const;
  // Its Workload may grow and shrink while it runs (annotation kueue.x-k8s.io/elastic-job).
  bool elastic(const RuleSettings& settings) const;
  // Whether its pod templates are known; those of a JobSet's Jobs are not.
  bool readable() const;

  // spec.suspend as written.
  bool suspended() const { return job_ != nullptr ? job_->suspended : jobset_->suspended; }
  // A stop of several writes has begun and not ended (annotation kueue.x-k8s.io/stopping).
  bool stopping() const;
  // Suspended, and no stop is under way.
  bool stopped() const { return suspended() && !stopping(); }
  bool active() const;  // some of its pods run
  bool pods_ready() const;
  std::optional<JobEnd> end() const;
  std::vector<ReclaimablePod> reclaimable_pods() const;

  // As a Workload has them: without labels that name this very job, each environment
  // variable once.
  std::vector<PodSet> pod_sets(const RuleSettings& settings) const;
  // The same without what only a new Workload needs; cheap.
  std::vector<PodSet> pod_set_shapes(const RuleSettings& settings) const;

  // The merge patch that starts it with what its pod sets got, in order. An error can
  // never be mended by waiting.
  Result<nlohmann::json> start_patch(const std::vector<PodSetInfo>& infos) const;
  // The merge patch that puts back what a start has changed, without spec.suspend; null
  // when everything is as it was. No infos: nobody knows how it was.
  nlohmann::json restore_patch(const std::vector<PodSetInfo>& infos) const;
  bool has_start_time() const { return job_ != nullptr && !job_->status.start_time.is_zero(); }
  // The template of a Job that has started cannot change before its start time is taken
  // away, or Kubernetes itself has noted that the Job is suspended.
  bool start_time_is_in_the_way() const;

 private:
  // Of the annotation kueue.x-k8s.io/job-min-parallelism.
  std::optional<int32_t> min_count() const;
  bool completions_follow_parallelism() const;
  nlohmann::json restore_patch_of_jobset(const std::vector<PodSetInfo>& infos) const;

  const Job* job_ = nullptr;  // one of the two
  const JobSet* jobset_ = nullptr;
};

// Of a pod set as a Workload stores it: what its pods had before any start.
PodSetInfo info_of_pod_set(const PodSet& pod_set);
// Whether two specs have the same containers and init containers. Those of `job` are
// compared as a Workload would have them.
bool same_containers(const PodSpecPtr& job, const PodSpecPtr& workload);

}  // namespace muster
