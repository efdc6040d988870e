// The Workload of a pod or of a group of pods, as it is made. Pure.
// Source: Kueue, pkg/controller/jobs/pod.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reconcilers/pod/pod_context.h"

namespace muster::reconcilers {

// Makes it, or says in an event why there is none; pods that are too many are deleted first.
void make_workload(const PodContext& context, Plan& plan);
// Brings one that waits in line with its pod. Not of groups, whose Workloads are deleted instead.
void remake_workload(const PodContext& context, const Workload& workload, Plan& plan);

// An entry of metadata.ownerReferences of a Workload that several pods own.
nlohmann::json plain_owner(const QueuedPod& pod);

}  // namespace muster::reconcilers
