#include "reconcilers/job/job_workload_infos.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/cluster_queue.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"

namespace muster::reconcilers {
namespace {

std::string_view slice_name(const Workload& workload) {
  const std::string_view origin = workload.meta.annotation(kWorkloadSliceNameAnnotation);
  return origin.empty() ? std::string_view(workload.meta.name) : origin;
}

void put(Labels& map, std::string_view key, std::string_view value) {
  map.insert_or_assign(std::string(key), std::string(value));
}

void put_identity(const JobContext& context, const Workload& workload, jobs::PodSetInfo& info) {
  const RuleSettings& rules = context.queues().rules;
  put(info.labels, kPodSetLabel, info.name);
  if (rules.enabled(Gate::kTopologyAwareScheduling)) put(info.annotations, kWorkloadAnnotation, workload.meta.name);
  if (context.job.elastic(rules)) put(info.annotations, kWorkloadSliceNameAnnotation, slice_name(workload));
  if (!rules.enabled(Gate::kAssignQueueLabelsForPods)) return;
  put(info.labels, kLocalQueueLabel, workload.queue_name);
  const std::string& cluster_queue = workload.status.admission->cluster_queue;
  if (is_dns1123_label(cluster_queue).empty()) put(info.labels, kClusterQueueLabel, cluster_queue);
}

Outcome<> put_flavors(const JobContext& context, const PodSetAssignment& assignment, jobs::PodSetInfo& info) {
  std::set<std::string_view> done;
  for (const auto& [resource, name] : assignment.flavors) {
    if (!done.insert(name).second) continue;
    const ResourceFlavor* flavor = context.state.resource_flavor(name);
    if (flavor == nullptr) return fail("ResourceFlavor " + name + " does not exist");
    info.node_selector.insert(flavor->node_labels.begin(), flavor->node_labels.end());
    info.tolerations.insert(info.tolerations.end(), flavor->tolerations.begin(), flavor->tolerations.end());
  }
  return Done{};
}

Outcome<> put_updates(const Workload& workload, jobs::PodSetInfo& info) {
  for (const AdmissionCheckState& check : workload.status.admission_checks) {
    const auto update = std::find_if(check.pod_set_updates.begin(), check.pod_set_updates.end(),
                                     [&](const PodSetUpdate& candidate) { return candidate.name == info.name; });
    if (update == check.pod_set_updates.end()) continue;
    const jobs::PodSetInfo wanted{.name = info.name,
                                  .labels = update->labels,
                                  .annotations = update->annotations,
                                  .node_selector = update->node_selector,
                                  .tolerations = update->tolerations,
                                  .scheduling_gates = {}};
    if (auto merged = jobs::merge(info, wanted); !merged)
      return fail("in admission check \"" + check.name + "\": " + merged.error().message);
  }
  return Done{};
}

// A pod set as it runs, after its admission; nullopt when it could not.
std::optional<PodSet> running(const PodSet& pod_set, const std::vector<jobs::PodSetInfo>& infos,
                              std::vector<Toleration>& tolerations) {
  const auto info = std::find_if(infos.begin(), infos.end(),
                                 [&](const jobs::PodSetInfo& candidate) { return candidate.name == pod_set.name; });
  if (info == infos.end()) return std::nullopt;
  jobs::PodSetInfo merged = jobs::info_of_pod_set(pod_set);
  if (!jobs::merge(merged, *info)) return std::nullopt;
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

Result<std::vector<jobs::PodSetInfo>, NoInfos> infos_of_admission(const JobContext& context, const Workload& workload) {
  std::vector<jobs::PodSetInfo> infos;
  if (!workload.status.admission) return infos;
  for (const PodSetAssignment& assignment : workload.status.admission->pod_sets) {
    const PodSet* pod_set = workload.find(assignment.name);
    jobs::PodSetInfo info;
    info.name = assignment.name;
    info.count = assignment.count.value_or(pod_set == nullptr ? 0 : pod_set->count);
    if (auto found = put_flavors(context, assignment, info); !found)
      return fail_with(NoInfos{found.error().message, true});
    put_identity(context, workload, info);
    if (auto merged = put_updates(workload, info); !merged) return fail_with(NoInfos{merged.error().message, false});
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
