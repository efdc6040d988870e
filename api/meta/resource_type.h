// Where kinds live on the API server. One constant per kind that muster reads or
// writes; everything that names a kind points at one of these.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace muster {

// What tells kinds apart. Objects of one name in two groups are not the same, and the API server can send one resource
// by several watches.
struct KindId {
  std::string_view plural, group, selection;
  auto operator<=>(const KindId&) const = default;
};

struct ResourceType {
  std::string_view group;  // "" for the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced;
  std::string_view api_version;  // "batch/v1", or "v1" for the core group
  // Which of several watches of the resource these objects come from, because a selector cannot express "or". Empty:
  // the first or only one.
  std::string_view selection{};

  constexpr KindId id() const { return {plural, group, selection}; }
  // The version is no part of the identity.
  friend constexpr bool operator==(const ResourceType& a, const ResourceType& b) {
    return &a == &b || a.id() == b.id();
  }
};

// "workloads.kueue.x-k8s.io", as kubectl has it; "pods" of the core group.
std::string full_name(const ResourceType& type);

inline constexpr ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false, "v1"};
// Watched as values, not as objects (engine/loop/node_feed.h).
inline constexpr ResourceType kNodes{"", "v1", "nodes", "Node", false, "v1"};
inline constexpr ResourceType kLimitRanges{"", "v1", "limitranges", "LimitRange", true, "v1"};
inline constexpr ResourceType kPods{"", "v1", "pods", "Pod", true, "v1"};
// Pods that wait in a queue or have left one: another watch of pods than that of gangs.
inline constexpr ResourceType kQueuedPods{"", "v1", "pods", "Pod", true, "v1", "queued"};
// Never read or written: names the pods of one group, for reconcilers.
inline constexpr ResourceType kPodGroups{"", "v1", "pods", "Pod", true, "v1", "group"};
inline constexpr ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap", true, "v1"};
inline constexpr ResourceType kServices{"", "v1", "services", "Service", true, "v1"};
inline constexpr ResourceType kPersistentVolumeClaims{
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true, "v1",
};
inline constexpr ResourceType kJobs{"batch", "v1", "jobs", "Job", true, "batch/v1"};
inline constexpr ResourceType kJobSets{"jobset.x-k8s.io", "v1alpha2", "jobsets",
                                       "JobSet",          true,       "jobset.x-k8s.io/v1alpha2"};
inline constexpr ResourceType kLocalQueues{"kueue.x-k8s.io", "v1beta2", "localqueues",
                                           "LocalQueue",     true,      "kueue.x-k8s.io/v1beta2"};
inline constexpr ResourceType kClusterQueues{"kueue.x-k8s.io", "v1beta2", "clusterqueues",
                                             "ClusterQueue",   false,     "kueue.x-k8s.io/v1beta2"};
inline constexpr ResourceType kAdmissionChecks{"kueue.x-k8s.io", "v1beta2", "admissionchecks",
                                               "AdmissionCheck", false,     "kueue.x-k8s.io/v1beta2"};
inline constexpr ResourceType kWorkloadPriorityClasses{"kueue.x-k8s.io",        "v1beta2", "workloadpriorityclasses",
                                                       "WorkloadPriorityClass", false,     "kueue.x-k8s.io/v1beta2"};
inline constexpr ResourceType kWorkloads{"kueue.x-k8s.io", "v1beta2", "workloads",
                                         "Workload",       true,      "kueue.x-k8s.io/v1beta2"};
inline constexpr ResourceType kCohorts{"kueue.x-k8s.io", "v1beta2", "cohorts",
                                       "Cohort",         false,     "kueue.x-k8s.io/v1beta2"};
inline constexpr ResourceType kResourceFlavors{"kueue.x-k8s.io", "v1beta2", "resourceflavors",
                                               "ResourceFlavor", false,     "kueue.x-k8s.io/v1beta2"};
inline constexpr ResourceType kPriorityClasses{"scheduling.k8s.io", "v1",  "priorityclasses",
                                               "PriorityClass",     false, "scheduling.k8s.io/v1"};
inline constexpr ResourceType kRuntimeClasses{"node.k8s.io",  "v1",  "runtimeclasses",
                                              "RuntimeClass", false, "node.k8s.io/v1"};
inline constexpr ResourceType kCustomResourceDefinitions{
    "apiextensions.k8s.io",     "v1",  "customresourcedefinitions",
    "CustomResourceDefinition", false, "apiextensions.k8s.io/v1",
};
inline constexpr ResourceType kMutatingWebhookConfigurations{
    "admissionregistration.k8s.io", "v1",  "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration", false, "admissionregistration.k8s.io/v1",
};
inline constexpr ResourceType kValidatingWebhookConfigurations{
    "admissionregistration.k8s.io",   "v1",  "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration", false, "admissionregistration.k8s.io/v1",
};

}  // namespace muster
