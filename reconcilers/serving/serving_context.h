// One reconciliation of a StatefulSet or LeaderWorkerSet, with the steps for its Workloads and for its pods.
#pragma once

#include <string>
#include <vector>

#include "jobs/serving/serving_set.h"
#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

struct ServingContext {
  const DescribedJob& set;
  const jobs::ServingSet& wanted;
  const JobContext& job;  // the same, for what all jobs have in common

  const RuleSettings& rules() const { return job.queues().rules; }
  // A StatefulSet of an older Kueue keeps the Workload that its pods name, as long as it exists.
  std::string workload_name(int32_t group) const;
};

// Deletes Workloads of groups that a LeaderWorkerSet has no more.
void drop_surplus_workloads(const ServingContext& context, Plan& plan);

// Releases the quota of a set without groups where no pod uses it.
void release_unused(const ServingContext& context, Plan& plan);

// Makes the Workloads that are missing, and brings the others in line with the set. A StatefulSet of zero replicas
// keeps one, on hold.
void keep_workloads(const ServingContext& context, Plan& plan);

// Assigns pods to their group, so that its Workload counts and starts them.
void keep_pods(const ServingContext& context, Plan& plan);

}  // namespace muster::reconcilers
