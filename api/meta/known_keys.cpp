#include "api/meta/known_keys.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "api/meta/constants.h"

namespace muster {
namespace {

// Literals are keys of Kueue 0.20 and JobSet 0.12 that have no constant here, or have one in a room on the right. A
// test reads the sources: each key there is in this table, or is no key of a label or an annotation.
constexpr std::string_view kKnownKeys[] = {
    // Kueue: jobs
    kQueueNameLabel,
    kPriorityClassLabel,
    kMaxExecTimeLabel,
    kPrebuiltWorkload,
    kMinParallelismAnnotation,
    kCompletionsEqualParallelismAnnotation,
    kElasticJobAnnotation,
    kAdmissionGatedByAnnotation,
    kStoppingAnnotation,
    "kueue.x-k8s.io/parent-workload",
    "kueue.x-k8s.io/original-node-selectors",
    "kueue.x-k8s.io/original-pod-sets-info",
    "kueue.x-k8s.io/wait-for-pods-ready",
    "kueue.x-k8s.io/job-owner-gvk",
    "kueue.x-k8s.io/job-owner-name",
    "kueue.x-k8s.io/multikueue-origin",
    "kueue.x-k8s.io/raycluster-generation",
    // Kueue: pods, and groups of them.
    kManagedLabel,
    kPodGroupName,
    kPodGroupTotalCount,
    kPodGroupFastAdmission,
    kPodGroupServing,
    kPodGroupPodIndex,
    kPodGroupPodIndexLabel,
    "kueue.x-k8s.io/pod-group-max-not-ready-count",
    kRetriableInGroup,
    kRoleHashAnnotation,
    kSuspendingParent,
    "kueue.x-k8s.io/safe-to-forcefully-delete",
    // Kueue: topologies.
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
    "kueue.x-k8s.io/podset-slice-size",
    "kueue.x-k8s.io/podset-topology-spreading",
    "kueue.x-k8s.io/podset-group-name",
    "kueue.x-k8s.io/pod-index-offset",
    "kueue.x-k8s.io/tas",
    // Kueue: Workloads, pods of admitted jobs, queues.
    kJobUidLabel,
    kPodSetLabel,
    kLocalQueueLabel,
    kClusterQueueLabel,
    kWorkloadAnnotation,
    kWorkloadSliceNameAnnotation,
    "kueue.x-k8s.io/workload-slice-replacement-for",
    kIsGroupWorkload,
    "kueue.x-k8s.io/component-workload-index",
    "kueue.x-k8s.io/concurrent-admission-parent",
    "kueue.x-k8s.io/allowed-resource-flavor",
    "kueue.x-k8s.io/alpha-preemption-config",
    // JobSet.
    kJobSetNameKey,
    kJobSetUidLabel,
    kReplicatedJobNameKey,
    kJobIndexKey,
    kRestartAttemptLabel,
    kJobRestartAttemptKey,
    kJobKeyKey,
    kJobSetPriorityLabel,
    kCoordinatorKey,
    kExclusiveTopologyAnnotation,
    kNodeSelectorStrategyAnnotation,
    "alpha.jobset.sigs.k8s.io/namespaced-job",
    "alpha.jobset.sigs.k8s.io/no-schedule",
    "jobset.sigs.k8s.io/disable-in-place-restart",
    "jobset.sigs.k8s.io/execution-attempt",
    "jobset.sigs.k8s.io/global-replicas",
    "jobset.sigs.k8s.io/group-name",
    "jobset.sigs.k8s.io/group-replicas",
    "jobset.sigs.k8s.io/in-place-restart-attempt",
    "jobset.sigs.k8s.io/job-global-index",
    "jobset.sigs.k8s.io/job-group-index",
    "jobset.sigs.k8s.io/replicatedjob-replicas",
    // muster.
    kPreemptionProtectionAnnotation,
    kReclaimProtectionAnnotation,
    kPreemptionProtectionLimitAnnotation,
    kFitOnNodesAnnotation,
    kSucceededPodsAnnotation,
    kGroupLabel,
    kGroupTimeoutAnnotation,
    kGroupTargetsAnnotation,
    kGroupOnTimeoutAnnotation,
    kGroupNudgeAnnotation,
    kGroupEpochAnnotation,
    "muster.batch/adopted",
    "muster.batch/applied-resources",
    "muster.batch/applied-template",
    "muster.batch/external-frameworks",
    "muster.batch/group-scheduling-field",
    "muster.batch/in-place-restart",
    "muster.batch/pod-selector",
    "muster.batch/submitter",
};

constexpr std::string_view kKnownDomains[] = {"kueue.x-k8s.io", "jobset.sigs.k8s.io", "alpha.jobset.sigs.k8s.io",
                                              "muster.batch"};

constexpr size_t kMostChanges = 2;
constexpr size_t kShortName = 6;

constexpr size_t longest_key() {
  size_t size = 0;
  for (const std::string_view key : kKnownKeys) size = std::max(size, key.size());
  return size;
}
constexpr size_t kMostLetters = longest_key() + kMostChanges;
static_assert(kMostLetters < 255);  // a count of changes is one byte

constexpr std::string_view domain_of(std::string_view key) {
  return key.substr(0, key.find('/'));
}
constexpr std::string_view name_of(std::string_view key) {
  return key.substr(key.find('/') + 1);
}

constexpr size_t difference(size_t a, size_t b) {
  return a > b ? a - b : b - a;
}

// Optimal string alignment, in three rows on the stack; ends where more than `most` changes are certain, and is then
// most + 1. Both texts have at most kMostLetters.
size_t changes_between(std::string_view a, std::string_view b, size_t most) {
  if (a == b) return 0;
  if (difference(a.size(), b.size()) > most) return most + 1;
  using Row = std::array<uint8_t, kMostLetters + 1>;
  const auto beyond = static_cast<uint8_t>(most + 1);
  Row before_last{}, last{}, row{};
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<uint8_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    // Outside of this band more letters are added than `most`.
    const size_t from = i > most ? i - most : 1, to = std::min(b.size(), i + most);
    row.fill(beyond);
    if (i <= most) row[0] = static_cast<uint8_t>(i);
    size_t least = row[0];
    for (size_t j = from; j <= to; ++j) {
      size_t changes = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      changes = std::min<size_t>({changes, last[j] + 1U, row[j - 1] + 1U, beyond});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        changes = std::min<size_t>(changes, before_last[j - 2] + 1U);
      row[j] = static_cast<uint8_t>(changes);
      least = std::min(least, changes);
    }
    if (least > most) return most + 1;
    before_last = last;
    last = row;
  }
  return std::min<size_t>(last[b.size()], most + 1);
}

}  // namespace

std::span<const std::string_view> known_keys() {
  return kKnownKeys;
}

bool can_be_misspelt(std::string_view key) {
  if (key.find('/') == std::string_view::npos || key.size() > kMostLetters) return false;
  const std::string_view domain = domain_of(key);
  const bool near = std::any_of(std::begin(kKnownDomains), std::end(kKnownDomains), [&](std::string_view known) {
    return changes_between(domain, known, kMostChanges) <= kMostChanges;
  });
  return near && std::find(std::begin(kKnownKeys), std::end(kKnownKeys), key) == std::end(kKnownKeys);
}

std::string_view nearest_known_key(std::string_view key) {
  if (!can_be_misspelt(key)) return {};
  const std::string_view domain = domain_of(key), name = name_of(key);
  std::string_view nearest;
  size_t best = kMostChanges + 1;
  for (const std::string_view known : kKnownKeys) {
    size_t most = name_of(known).size() < kShortName ? 1 : kMostChanges;
    most = std::min(most, best - 1);
    const size_t of_domain = changes_between(domain, domain_of(known), most);
    if (of_domain > most) continue;
    const size_t changes = of_domain + changes_between(name, name_of(known), most - of_domain);
    if (changes > most) continue;
    best = changes;
    nearest = known;
  }
  return nearest;
}

}  // namespace muster
