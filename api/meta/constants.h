// Names that users' manifests, dashboards and scripts know, spelled once.
// Source: Kueue (kueue.x-k8s.io), JobSet (jobset.x-k8s.io), Kubernetes (batch/v1)
// and muster's own prefix, muster.batch.
#pragma once

#include <string_view>

namespace muster {

// --- Kueue: labels and annotations of jobs ---
inline constexpr std::string_view kQueueNameLabel = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPriorityClassLabel = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view kMaxExecTimeLabel = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view kPrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name";  // label or annotation
inline constexpr std::string_view kMinParallelismAnnotation = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr std::string_view kCompletionsEqualParallelismAnnotation =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
inline constexpr std::string_view kElasticJobAnnotation = "kueue.x-k8s.io/elastic-job";
// A scheduling gate of Kueue's slices of elastic jobs. muster removes it where it starts a job.
inline constexpr std::string_view kElasticJobGate = "kueue.x-k8s.io/elastic-job";
// The manager of the patch of a TrainJob's runtime that selects nodes for its pods.
inline constexpr std::string_view kRuntimePatchManager = "kueue.x-k8s.io/manager";
inline constexpr std::string_view kAdmissionGatedByAnnotation = "kueue.x-k8s.io/admission-gated-by";
inline constexpr std::string_view kStoppingAnnotation = "kueue.x-k8s.io/stopping";
inline constexpr std::string_view kAdmissionRequestPrefix = "provreq.kueue.x-k8s.io/";
inline constexpr std::string_view kMultiKueueControllerName = "kueue.x-k8s.io/multikueue";
inline constexpr std::string_view kProvisioningControllerName = "kueue.x-k8s.io/provisioning-request";
inline constexpr std::string_view kDefaultLocalQueueName = "default";
inline constexpr std::string_view kDefaultPriorityClassName = "default";

// --- Kueue: on pods by themselves and groups of pods ---
inline constexpr std::string_view kManagedLabel = "kueue.x-k8s.io/managed";  // also a finalizer
inline constexpr std::string_view kManagedLabelValue = "true";
// Scheduling gates.
inline constexpr std::string_view kAdmissionGate = "kueue.x-k8s.io/admission";
inline constexpr std::string_view kTopologyGate = "kueue.x-k8s.io/topology";
inline constexpr std::string_view kPodGroupName = "kueue.x-k8s.io/pod-group-name";  // annotation or label
inline constexpr std::string_view kPodGroupTotalCount = "kueue.x-k8s.io/pod-group-total-count";
inline constexpr std::string_view kPodGroupFastAdmission = "kueue.x-k8s.io/pod-group-fast-admission";
inline constexpr std::string_view kPodGroupServing = "kueue.x-k8s.io/pod-group-serving";
inline constexpr std::string_view kPodGroupPodIndex = "kueue.x-k8s.io/pod-group-pod-index";
inline constexpr std::string_view kPodGroupPodIndexLabel = "kueue.x-k8s.io/pod-group-pod-index-label";
inline constexpr std::string_view kRetriableInGroup = "kueue.x-k8s.io/retriable-in-group";
inline constexpr std::string_view kRoleHashAnnotation = "kueue.x-k8s.io/role-hash";
// Names the framework whose object makes the pod, and puts it into its queue.
inline constexpr std::string_view kSuspendingParent = "kueue.x-k8s.io/pod-suspending-parent";
// A condition of a pod: a controller deletes it, and says why.
inline constexpr std::string_view kTerminationTarget = "TerminationTarget";
inline constexpr std::string_view kIsGroupWorkload = "kueue.x-k8s.io/is-group-workload";

// --- Kueue: on Workloads, and on the pods of jobs that were admitted ---
inline constexpr std::string_view kJobUidLabel = "kueue.x-k8s.io/job-uid";
inline constexpr std::string_view kPodSetLabel = "kueue.x-k8s.io/podset";
inline constexpr std::string_view kLocalQueueLabel = "kueue.x-k8s.io/local-queue-name";
inline constexpr std::string_view kClusterQueueLabel = "kueue.x-k8s.io/cluster-queue-name";
inline constexpr std::string_view kWorkloadAnnotation = "kueue.x-k8s.io/workload";
inline constexpr std::string_view kWorkloadSliceNameAnnotation = "kueue.x-k8s.io/workload-slice-name";

// --- JobSet: labels, and annotations of the same names, of its Jobs and pods ---
inline constexpr std::string_view kJobSetNameKey = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view kJobSetUidLabel = "jobset.sigs.k8s.io/jobset-uid";
inline constexpr std::string_view kReplicatedJobNameKey = "jobset.sigs.k8s.io/replicatedjob-name";
inline constexpr std::string_view kJobIndexKey = "jobset.sigs.k8s.io/job-index";
inline constexpr std::string_view kRestartAttemptLabel = "jobset.sigs.k8s.io/restart-attempt";
inline constexpr std::string_view kJobRestartAttemptKey = "jobset.sigs.k8s.io/job-restart-attempt";
inline constexpr std::string_view kJobKeyKey = "jobset.sigs.k8s.io/job-key";
inline constexpr std::string_view kJobSetPriorityLabel = "jobset.sigs.k8s.io/priority";
inline constexpr std::string_view kCoordinatorKey = "jobset.sigs.k8s.io/coordinator";
inline constexpr std::string_view kExclusiveTopologyAnnotation = "alpha.jobset.sigs.k8s.io/exclusive-topology";
// Exclusive placement by labels and taints that an administrator has put on the nodes.
inline constexpr std::string_view kNodeSelectorStrategyAnnotation = "alpha.jobset.sigs.k8s.io/node-selector";

// --- batch/v1 ---
inline constexpr std::string_view kControllerUidLabel = "batch.kubernetes.io/controller-uid";
inline constexpr std::string_view kJobNameLabel = "batch.kubernetes.io/job-name";
inline constexpr std::string_view kLegacyControllerUidLabel = "controller-uid";
inline constexpr std::string_view kLegacyJobNameLabel = "job-name";
inline constexpr std::string_view kCompletionIndexAnnotation = "batch.kubernetes.io/job-completion-index";

// --- muster: protection from early preemption (api/preemption_protection.h) ---
inline constexpr std::string_view kPreemptionProtectionAnnotation = "muster.batch/preemption-protection";
inline constexpr std::string_view kReclaimProtectionAnnotation = "muster.batch/reclaim-protection";
inline constexpr std::string_view kPreemptionProtectionLimitAnnotation = "muster.batch/preemption-protection-limit";
// Of a ResourceFlavor: "true" admits a Workload only when its pods have room on the flavor's nodes.
inline constexpr std::string_view kFitOnNodesAnnotation = "muster.batch/fit-on-nodes";

// On the Workload of a pod group: its pods that have succeeded, by role, also when they are gone.
inline constexpr std::string_view kSucceededPodsAnnotation = "muster.batch/succeeded-pods";

// --- muster: start as a group (KEP-498) ---
// On the pods of gangs and on their ConfigMaps, so that muster can watch just these.
inline constexpr std::string_view kGroupLabel = "muster.batch/group-scheduling";
inline constexpr std::string_view kGroupLabelValue = "true";
inline constexpr std::string_view kGroupTimeoutAnnotation = "muster.batch/group-scheduling-timeout-seconds";
inline constexpr std::string_view kGroupTargetsAnnotation = "muster.batch/group-scheduling-targets";
// Fail (the default) or Suspend.
inline constexpr std::string_view kGroupOnTimeoutAnnotation = "muster.batch/group-scheduling-on-timeout";
// On a waiting pod, changed so that the kubelet refreshes the pod's volumes at once.
inline constexpr std::string_view kGroupNudgeAnnotation = "muster.batch/group-scheduling-nudge";
inline constexpr std::string_view kGroupEpochAnnotation = "muster.batch/group-scheduling-epoch";
inline constexpr std::string_view kGroupInitContainer = "group-scheduling-init";
inline constexpr std::string_view kGroupVolume = "group-scheduling";
inline constexpr std::string_view kGroupMountPath = "/mnt/group-scheduling";

}  // namespace muster
