// The settings of reconcilers and of the cluster's state, from the configuration.
#pragma once

#include <optional>
#include <string>

#include "api/config/queue_settings.h"
#include "base/clock.h"

namespace muster {

struct ReconcilerSettings {
  // JobSet's feature gate ElasticJobSet: parallelism and completions of a JobSet's
  // template can change, and reach the Jobs that are there.
  bool elastic_jobsets = false;
  // JobSet's feature gate RestartJob: every Job of a JobSet says how often it was restarted by itself.
  bool labels_job_restarts = false;
  // Beside another JobSet controller: keep spec.groupSchedulingConfig in that controller's CRD.
  bool patch_jobset_crd = false;
  // Where muster runs; like kube-system no webhook of muster's is asked about objects there.
  std::string own_namespace{};
  // Jobs and JobSets can start as a group. Off, no pods and ConfigMaps are known.
  bool group_scheduling = true;
  QueueSettings queues{};
  // Of a pod that is deleted, no more of its grace period counts; unset: all of it.
  std::optional<Duration> longest_grace{};
};

}  // namespace muster
