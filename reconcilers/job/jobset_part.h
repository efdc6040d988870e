// A Job below a JobSet against what the JobSet asks for. Names, labels and ownerReferences are no proof: each user who
// can create Jobs can write them, also before the JobSet's controller does. Pure.
#pragma once

#include <vector>

#include "api/job.h"
#include "api/jobset.h"
#include "api/pod_set.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

// The replicated job that asks for a Job of this name, index and label; nullptr: none does. There is at most one Job
// for each index, because the name has it.
const ReplicatedJob* replicated_job_of(const JobSet& jobset, const Job& job);

// Whether the JobSet asks for the Job, the Job runs no more pods at once than its replicated job says, and each pod
// requests no more than `pod_sets`, those that the quota counts, have for a pod of that replicated job.
bool is_within_jobset(const state::ClusterState& state, const Job& job, const JobSet& jobset,
                      const std::vector<PodSet>& pod_sets);

}  // namespace muster::reconcilers
