// The labels and annotations by which pods are counted: their pod set, Workload and queues.
#include "api/config/queue_settings.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "api/workload.h"
#include "jobs/queued_job.h"
#include "kinds/pod_set_info.h"
#include "reconcilers/start/start_contribution.h"

namespace muster::reconcilers {
namespace {

std::string_view slice_name(const Workload& workload) {
  const std::string_view origin = workload.meta.annotation(kWorkloadSliceNameAnnotation);
  return origin.empty() ? std::string_view(workload.meta.name) : origin;
}

void put(Labels& map, std::string_view key, std::string_view value) {
  map.insert_or_assign(std::string(key), std::string(value));
}

Outcome<NoStart> add_identity(const StartContext& context, const PodSetAssignment&, PodSetInfo& info) {
  const RuleSettings& rules = context.queues.rules;
  const Workload& workload = context.workload;
  put(info.labels, kPodSetLabel, info.name);
  if (rules.enabled(Gate::kTopologyAwareScheduling)) put(info.annotations, kWorkloadAnnotation, workload.meta.name);
  if (context.job.elastic(rules)) put(info.annotations, kWorkloadSliceNameAnnotation, slice_name(workload));
  if (!rules.enabled(Gate::kAssignQueueLabelsForPods)) return Done{};
  put(info.labels, kLocalQueueLabel, workload.queue_name);
  const std::string& cluster_queue = workload.status.admission->cluster_queue;
  if (is_dns1123_label(cluster_queue).empty()) put(info.labels, kClusterQueueLabel, cluster_queue);
  return Done{};
}

}  // namespace

extern const StartContribution identity_contribution{.name = "identity", .add = &add_identity};

}  // namespace muster::reconcilers
