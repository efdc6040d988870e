#include "reconcilers/job/job_workload_infos.h"

#include <algorithm>

namespace muster::reconcilers {
namespace {

// A pod set as it runs, after its admission; nullopt when it could not.
std::optional<PodSet> running(const PodSet& pod_set, const std::vector<PodSetInfo>& infos,
                              std::vector<Toleration>& tolerations) {
  const auto info = std::find_if(infos.begin(), infos.end(),
                                 [&](const PodSetInfo& candidate) { return candidate.name == pod_set.name; });
  if (info == infos.end()) return std::nullopt;
  PodSetInfo merged = jobs::info_of_pod_set(pod_set);
  if (!merge(merged, *info)) return std::nullopt;
  tolerations = std::move(merged.tolerations);
  PodSet result = pod_set;
  if (pod_set.min_count) result.count = info->count;
  return result;
}

bool same_shape(const PodSet& wanted, const PodSet& present, const std::vector<Toleration>* tolerations) {
  if (wanted.count != present.count || wanted.min_count != present.min_count) return false;
  const PodSpecPtr& spec = present.pod_template.spec;
  if (tolerations != nullptr && wanted.pod_template.spec->tolerations != *tolerations) return false;
  return jobs::same_charged_fields(wanted.pod_template.spec, spec);
}

// `tolerations`: also compare them, with these of each pod set.
bool same_shapes(const std::vector<PodSet>& wanted, const std::vector<PodSet>& present,
                 const std::vector<std::vector<Toleration>>* tolerations) {
  if (wanted.size() != present.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!same_shape(wanted[i], present[i], tolerations == nullptr ? nullptr : &(*tolerations)[i])) return false;
  }
  return true;
}

bool same_as_stored(const std::vector<PodSet>& wanted, const Workload& workload) {
  if (workload.admitted()) return same_shapes(wanted, workload.pod_sets, nullptr);
  std::vector<std::vector<Toleration>> tolerations;
  for (const PodSet& pod_set : workload.pod_sets) tolerations.push_back(pod_set.pod_template.spec->tolerations);
  return same_shapes(wanted, workload.pod_sets, &tolerations);
}

// nullopt: no pod runs with this admission, so the stored job counts.
std::optional<bool> same_as_running(const JobContext& context, const std::vector<PodSet>& wanted,
                                    const Workload& workload) {
  if (!workload.has_quota_reserved() || !workload.status.admission) return std::nullopt;
  const auto infos = infos_of_admission(context, workload);
  if (!infos || infos->empty()) return std::nullopt;
  std::vector<PodSet> pod_sets;
  std::vector<std::vector<Toleration>> tolerations(workload.pod_sets.size());
  for (size_t i = 0; i < workload.pod_sets.size(); ++i) {
    auto pod_set = running(workload.pod_sets[i], *infos, tolerations[i]);
    if (!pod_set) return std::nullopt;
    pod_sets.push_back(std::move(*pod_set));
  }
  return same_shapes(wanted, pod_sets, workload.admitted() ? nullptr : &tolerations);
}

}  // namespace

Result<std::vector<PodSetInfo>, NoStart> infos_of_admission(const JobContext& context, const Workload& workload) {
  std::vector<PodSetInfo> infos;
  if (!workload.status.admission) return infos;
  const StartContext start{context.state, context.queues(), workload, context.job};
  for (const PodSetAssignment& assignment : workload.status.admission->pod_sets) {
    const PodSet* pod_set = workload.find(assignment.name);
    PodSetInfo info;
    info.name = assignment.name;
    info.count = assignment.count.value_or(pod_set == nullptr ? 0 : pod_set->count);
    for (const StartContribution* contribution : context.contributions) {
      if (auto added = contribution->add(start, assignment, info); !added) return fail_with(added.error());
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

bool is_equivalent(const JobContext& context, const Workload& workload) {
  if (workload.maximum_execution_seconds != context.job.maximum_execution_seconds()) return false;
  const std::vector<PodSet> wanted = context.job.pod_set_shapes(context.queues().rules);
  if (!context.job.kind().start_shows_in_templates()) return same_as_stored(wanted, workload);
  const auto runs = same_as_running(context, wanted, workload);
  if (runs && (*runs || !context.job.stopped())) return *runs;
  return same_as_stored(wanted, workload);
}

}  // namespace muster::reconcilers
