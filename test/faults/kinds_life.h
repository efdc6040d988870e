// A life with jobs of other kinds than Jobs and JobSets: Kubeflow's training jobs, TrainJobs, RayJobs, RayClusters,
// RayServices, AppWrappers, SparkApplications, pods alone and in groups, Deployments, StatefulSets and
// LeaderWorkerSets, of two priorities, in one ClusterQueue with preemption whose quota an administrator changes. Jobs
// come to their end; sets are scaled to zero and back, grow and are deleted.
//
// Beside the invariants of every life: the pods that can run never ask for more than the quota.
#pragma once

#include "test/faults/lives.h"

namespace muster::test {

Outcome live_kinds(const Scene& scene);

}  // namespace muster::test
