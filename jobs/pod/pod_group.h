// A pod by itself, or the pods of a group, as one job: how far they are, what they ask for, and which of them are
// too many. Pure.
// Source: Kueue, pkg/controller/jobs/pod (KEP-976).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/rule_settings.h"
#include "api/meta/object_pointers.h"
#include "api/pod_set.h"
#include "api/pods/queued_pod.h"
#include "base/clock.h"
#include "base/result.h"
#include "jobs/job_kind.h"
#include "kinds/pod_set_info.h"

namespace muster::jobs {

// muster's webhook has put it into its queue: no other pod is touched.
bool is_managed(const QueuedPod& pod);
// It has a node, which can still be in use. One that is being deleted counts until its grace period is over; with
// the gate FastQuotaReleaseInPodIntegration it does not.
bool uses_node(const QueuedPod& pod, const RuleSettings& rules, TimePoint now);
// Of a pod that is being deleted: until when it can run.
TimePoint end_of_grace(const QueuedPod& pod);

// `pods` are not empty and in the order of their names; `group` is empty for a pod by itself.
PodGroup make_pod_group(std::vector<QueuedPodPtr> pods, std::string group, const RuleSettings& rules, TimePoint now);

bool suspended(const PodGroup& group);
// Pods that have succeeded count as ready.
bool pods_ready(const PodGroup& group);
// Groups for serving neither end nor release quota of single pods.
bool is_serving(const PodGroup& group);
// One failed pod ends such a group.
bool is_unretriable(const PodGroup& group);
// How many pods the group says it has; the error is about the annotation of its first pod.
Result<int32_t> total_count(const PodGroup& group);

// Pods that have succeeded, by role: the ids of their uids. Kept in the Workload, for a pod can be deleted at any time.
using SucceededPods = std::map<std::string, std::set<std::string>, std::less<>>;
SucceededPods read_succeeded(std::string_view annotation);
std::string to_text(const SucceededPods& pods);
// With those of the group that have succeeded.
SucceededPods succeeded_with(SucceededPods known, const PodGroup& group);

// The counted part of the deleted pods: for any record, each existing pod keeps its place in its pod
// set.
std::map<std::string, int32_t, std::less<>> gone_pods(const PodGroup& group, const SucceededPods& recorded,
                                                      const std::vector<PodSet>& pod_sets);

// nullopt: it has not ended.
std::optional<JobEnd> end_of(const PodGroup& group);
std::vector<ReclaimablePod> reclaimable_pods(const PodGroup& group);

// The maximum number of pod sets of a Workload.
inline constexpr size_t kMostRoles = 18;

// Why a group has no Workload.
struct GroupError {
  std::string message;
  // Only other pods help. Otherwise upstream tries again and again.
  bool lasting = false;
  bool told = false;  // as an event
};
// One for each role among the pods that count; for fast admission one of the whole count. Without topology. Names that
// users choose do not change the order.
Result<std::vector<PodSet>, GroupError> pod_sets_of(const PodGroup& group);

// The group before it has a Workload: its members, and its excess pods.
struct GroupMembers {
  std::vector<QueuedPodPtr> members;  // own the Workload, in this order
  std::vector<QueuedPodPtr> excess;
};
Result<GroupMembers, GroupError> members_of(const PodGroup& group);
// Labels of pods that the Workload gets; an error when two pods disagree.
Result<Labels, GroupError> labels_to_copy(const std::vector<QueuedPodPtr>& pods, const std::vector<std::string>& keys);

// The group beside its Workload.
struct GroupMatch {
  // The Workload is not what these pods ask for.
  bool suits = false;
  int32_t absent = 0;                  // pods that the Workload counts and that are not there
  std::vector<QueuedPodPtr> kept;      // by role
  std::vector<QueuedPodPtr> excess;    // more than their role has
  std::vector<QueuedPodPtr> replaced;  // failed, and others have their places
};
GroupMatch match(const PodGroup& group, const Workload& workload, Timestamp now);

// The merge patch that lets one pod go on with what its pod set got. `role` is the name of the pod set.
Result<nlohmann::json> ungate_patch(const QueuedPod& pod, std::string_view role, const std::vector<PodSetInfo>& infos);

}  // namespace muster::jobs
