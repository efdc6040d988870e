// A StatefulSet or a LeaderWorkerSet as the reconcilers see it: how many pods it makes in which groups, and what of
// an update is still to come. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/config/rule_settings.h"
#include "api/meta/resource_type.h"
#include "api/pods/queued_pod.h"
#include "kinds/described_job.h"

namespace muster::jobs {

struct ServingSet {
  // Groups of pods that have a Workload each. Of a StatefulSet at most one: all of its pods.
  int32_t groups = 0;
  int32_t pods_per_group = 0;
  // Of a StatefulSet that brings its pods up to date by itself; empty: nothing is to be updated.
  std::string update_revision;
  int32_t updates_from = 0;  // the first ordinal that is updated
};
ServingSet serving_set_of(const DescribedJob& object);

bool is_stateful_set(const DescribedJob& object);

// Another object makes this one, and queues its pods.
bool has_other_parent(const DescribedJob& object);

// The group of a pod of a LeaderWorkerSet; nullopt: no label names it.
std::optional<int32_t> group_index_of(const QueuedPod& pod);
// The pod set that such a pod is of: "main", "leader" or "worker".
std::string_view role_in_set(const DescribedJob& object, const QueuedPod& pod);
// The update replaces it, so it shall not start as it is.
bool is_outdated(const ServingSet& set, const QueuedPod& pod);

// The name of the Workload of a StatefulSet, or of one group of a LeaderWorkerSet.
std::string serving_workload_name(const DescribedJob& object, int32_t group, const RuleSettings& settings);
// The same of a StatefulSet, as Kueue before 0.17 named it: without the uid.
std::string older_workload_name(const DescribedJob& stateful_set, const RuleSettings& settings);

// What the Workload of a set says of its owner, and of its place among the set's Workloads.
inline constexpr std::string_view kJobOwnerGvk = "kueue.x-k8s.io/job-owner-gvk";
inline constexpr std::string_view kJobOwnerName = "kueue.x-k8s.io/job-owner-name";
inline constexpr std::string_view kComponentIndex = "kueue.x-k8s.io/component-workload-index";
// "apps/v1, Kind=StatefulSet".
std::string gvk_of(const ResourceType& type);

// The reconciler of such a set creates its Workload, not the reconciler of pods.
bool is_of_serving_set(const QueuedPod& pod);

}  // namespace muster::jobs
