// Indexes that several rooms use. An index of one room is declared there.
#pragma once

#include "state/index/index.h"

namespace muster::state {

// By {"", uid of the controller}; also those of a deleted owner.
extern const Index<Workload> kWorkloadsByOwner;
// By {namespace, LocalQueue}.
extern const Index<Workload> kWorkloadsByQueue;
// Those with an admission, by {"", ClusterQueue}.
extern const Index<Workload> kWorkloadsByClusterQueue;
// Workloads of pod groups by {namespace, uid} of the StatefulSet or LeaderWorkerSet that kueue.x-k8s.io/job-uid names.
// Any user can write the label: compare the names.
extern const Index<Workload> kWorkloadsByServingSet;
// By {namespace, JobSet that is the controller}. A namesake's with another uid are among them: compare
// meta.controller->uid.
extern const Index<Job> kJobsByJobSet;
// Those that muster manages, by {namespace, name of the group}.
extern const Index<QueuedPod> kPodsByGroup;
// By {"", ClusterQueue}.
extern const Index<LocalQueue> kLocalQueuesByClusterQueue;
// By {"", name} of each flavor and of each check that they name, whether it exists or not.
extern const Index<ClusterQueue> kClusterQueuesByFlavor;
extern const Index<ClusterQueue> kClusterQueuesByCheck;
// By {"", namespace}.
extern const Index<LimitRange> kLimitRangesByNamespace;

}  // namespace muster::state
