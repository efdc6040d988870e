#include "jobs/pod/pod_group.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/time.h"
#include "base/encoding.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

template <class Test>
bool any_pod(const PodGroup& group, Test test) {
  return std::any_of(group.pods.begin(), group.pods.end(), [&](const QueuedPodPtr& pod) { return test(*pod); });
}

// Long enough to distinguish the pods of one group.
std::string id_of(const QueuedPod& pod) {
  return sha256_hex(pod.meta.uid).substr(0, 12);
}

int32_t gone_from(const PodGroup& group) {
  int32_t all = 0;
  for (const auto& [role, count] : group.gone) all += count;
  return all;
}

}  // namespace

bool is_managed(const QueuedPod& pod) {
  return pod.meta.label(kManagedLabel) == kManagedLabelValue;
}

TimePoint end_of_grace(const QueuedPod& pod) {
  return to_time_point(pod.deleted) + std::chrono::seconds(pod.grace_seconds);
}

bool uses_node(const QueuedPod& pod, const RuleSettings& rules, TimePoint now) {
  if (pod.terminated() || (pod.phase != "Running" && pod.node.empty())) return false;
  if (!pod.meta.deleting) return true;
  if (rules.enabled(Gate::kFastQuotaReleaseInPodIntegration)) return false;
  return now < end_of_grace(pod);
}

PodGroup make_pod_group(std::vector<QueuedPodPtr> pods, std::string group, const RuleSettings& rules, TimePoint now) {
  PodGroup made;
  made.meta = pods.front()->meta;
  made.group = std::move(group);
  made.pods = std::move(pods);
  made.active = any_pod(made, [&](const QueuedPod& pod) { return uses_node(pod, rules, now); });
  return made;
}

bool suspended(const PodGroup& group) {
  return any_pod(group, [](const QueuedPod& pod) { return pod.gated() || pod.terminated(); });
}

bool pods_ready(const PodGroup& group) {
  const bool all = !any_pod(group, [](const QueuedPod& pod) { return !pod.ready && !pod.succeeded(); });
  if (group.group.empty()) return all;
  const auto count = total_count(group);
  return all && count && static_cast<int64_t>(group.pods.size()) + gone_from(group) >= *count;
}

bool is_serving(const PodGroup& group) {
  return !group.group.empty() && group.meta.annotation(kPodGroupServing) == "true";
}

bool is_unretriable(const PodGroup& group) {
  return any_pod(group, [](const QueuedPod& pod) { return pod.meta.annotation(kRetriableInGroup) == "false"; });
}

Result<int32_t> total_count(const PodGroup& group) {
  const auto given = group.meta.annotations.find(kPodGroupTotalCount);
  if (given == group.meta.annotations.end())
    return fail("failed to extract '" + std::string(kPodGroupTotalCount) + "' annotation");
  const auto count = go_atoi(given->second);
  if (!count) return fail(count.error().message);
  if (*count < 1) {
    return fail("incorrect annotation value '" + std::string(kPodGroupTotalCount) + "=" + given->second +
                "': group total count should be greater than zero");
  }
  return static_cast<int32_t>(std::min<int64_t>(*count, std::numeric_limits<int32_t>::max()));
}

SucceededPods read_succeeded(std::string_view annotation) {
  SucceededPods pods;
  const auto parsed = parse_json(annotation.empty() ? "{}" : annotation);
  if (!parsed || !parsed->is_object()) return pods;
  for (const auto& [role, ids] : parsed->items()) {
    if (!ids.is_array()) continue;
    for (const json& id : ids) {
      if (id.is_string()) pods[role].insert(id.get<std::string>());
    }
  }
  return pods;
}

std::string to_text(const SucceededPods& pods) {
  json object = json::object();
  for (const auto& [role, ids] : pods) object[role] = ids;
  return muster::to_text(object);
}

SucceededPods succeeded_with(SucceededPods known, const PodGroup& group) {
  if (group.group.empty() || is_serving(group)) return known;
  for (const QueuedPodPtr& pod : group.pods) {
    if (pod->succeeded()) known[pod->role].insert(id_of(*pod));
  }
  return known;
}

std::map<std::string, int32_t, std::less<>> gone_pods(const PodGroup& group, const SucceededPods& recorded,
                                                      const std::vector<PodSet>& pod_sets) {
  std::map<std::string, int32_t, std::less<>> gone;
  for (const PodSet& pod_set : pod_sets) {
    const auto known = recorded.find(pod_set.name);
    if (known == recorded.end()) continue;
    int64_t here = 0, absent = static_cast<int64_t>(known->second.size());
    for (const QueuedPodPtr& pod : group.pods) {
      if (pod->role != pod_set.name) continue;
      if (known->second.contains(id_of(*pod))) --absent;
      // If the record is correct, pods with a gate are excess pods.
      if (pod->counts() && !pod->gated()) ++here;
    }
    const int64_t room = std::max<int64_t>(pod_set.count - here, 0);
    if (const auto counted = std::min(absent, room); counted > 0) gone[pod_set.name] = static_cast<int32_t>(counted);
  }
  return gone;
}

std::optional<JobEnd> end_of(const PodGroup& group) {
  if (group.group.empty()) {
    const QueuedPod& pod = *group.pods.front();
    if (!pod.terminated()) return std::nullopt;
    return JobEnd{.success = pod.succeeded(), .message = pod.message};
  }
  if (is_serving(group)) return std::nullopt;
  const auto count = total_count(group);
  if (!count) return std::nullopt;
  const auto succeeded =
      gone_from(group) + static_cast<int32_t>(std::count_if(group.pods.begin(), group.pods.end(),
                                                            [](const QueuedPodPtr& pod) { return pod->succeeded(); }));
  const bool some_left = any_pod(group, [](const QueuedPod& pod) { return !pod.terminated(); });
  if (succeeded != *count && (some_left || !is_unretriable(group))) return std::nullopt;
  return JobEnd{.success = true,
                .message = "Pods succeeded: " + std::to_string(succeeded) + "/" + std::to_string(*count) + "."};
}

std::vector<ReclaimablePod> reclaimable_pods(const PodGroup& group) {
  std::vector<ReclaimablePod> reclaimable;
  if (group.group.empty() || is_serving(group)) return reclaimable;
  const auto add = [&](std::string_view role, int32_t count) {
    const auto found = std::find_if(reclaimable.begin(), reclaimable.end(),
                                    [&](const ReclaimablePod& pod) { return pod.name == role; });
    if (found != reclaimable.end())
      found->count += count;
    else
      reclaimable.push_back({.name = std::string(role), .count = count});
  };
  for (const QueuedPodPtr& pod : group.pods) {
    if (pod->succeeded()) add(pod->role, 1);
  }
  for (const auto& [role, count] : group.gone) add(role, count);
  return reclaimable;
}

Result<json> ungate_patch(const QueuedPod& pod, std::string_view role, const std::vector<PodSetInfo>& infos) {
  const auto info =
      std::find_if(infos.begin(), infos.end(), [&](const PodSetInfo& candidate) { return candidate.name == role; });
  if (info == infos.end())
    return fail("invalid podset infos: podSetInfo with the name '" + std::string(role) + "' is not found");
  const json pod_template = {{"metadata", {{"labels", pod.meta.labels}, {"annotations", pod.meta.annotations}}},
                             {"spec", json::parse(pod.spec->text)}};
  const PodSetInfo before = info_of_template(pod_template);
  PodSetInfo after = before;
  std::erase(after.scheduling_gates, kAdmissionGate);
  std::erase(after.scheduling_gates, kTopologyGate);
  if (auto merged = merge(after, *info); !merged) return fail(merged.error().message);
  return template_patch(before, after);
}

}  // namespace muster::jobs
