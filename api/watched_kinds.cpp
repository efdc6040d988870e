#include "api/watched_kinds.h"

namespace muster {

std::span<const WatchedKind> watched_kinds() {
  static constexpr WatchedKind kKinds[] = {
      {"", "v1", "namespaces", "Namespace", true, "v1"},
      {"", "v1", "limitranges", "LimitRange", false, "v1"},
      {"batch", "v1", "jobs", "Job", true, "batch/v1"},
      {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true, "jobset.x-k8s.io/v1alpha2"},
      {"kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", false, "kueue.x-k8s.io/v1beta2"},
      {"kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", false, "kueue.x-k8s.io/v1beta2"},
      {"kueue.x-k8s.io", "v1beta2", "admissionchecks", "AdmissionCheck", false, "kueue.x-k8s.io/v1beta2"},
      {"kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", true, "kueue.x-k8s.io/v1beta2"},
  };
  return kKinds;
}

}  // namespace muster
