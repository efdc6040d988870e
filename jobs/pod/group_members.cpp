// The members of a group of pods, and the excess pods.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/workload.h"
#include "jobs/pod/pod_group.h"
#include "kinds/kind_description.h"

namespace muster::jobs {
namespace {

using nlohmann::json;
using Pods = std::vector<QueuedPodPtr>;

// Kueue counts a pod from the time when it has its finalizer. Pods that Kueue has left come first.
bool has_finalizer(const QueuedPod& pod) {
  const auto& finalizers = pod.meta.finalizers;
  return std::find(finalizers.begin(), finalizers.end(), kManagedLabel) != finalizers.end();
}

// The first are kept.
bool is_kept_before(const QueuedPodPtr& a, const QueuedPodPtr& b) {
  if (has_finalizer(*a) != has_finalizer(*b)) return has_finalizer(*a);
  if (a->gated() != b->gated()) return !a->gated();
  return a->meta.created < b->meta.created;
}

Timestamp last_active(const QueuedPod& pod, Timestamp now) {
  const Timestamp failed = pod.failed_at.is_zero() ? now : pod.failed_at;
  const Timestamp deleted = pod.meta.deleting ? pod.deleted : now;
  return std::min(failed, deleted);
}

Pods with_role(const Pods& pods, std::string_view role, bool counting) {
  Pods found;
  for (const QueuedPodPtr& pod : pods) {
    if (pod->role == role && pod->counts() == counting) found.push_back(pod);
  }
  return found;
}

void move_tail(Pods& from, size_t kept, Pods& to) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(kept), from.end());
  from.resize(kept);
}

PodSet pod_set_of(const QueuedPod& pod, std::string name, int32_t count) {
  return {
      .name = std::move(name),
      .count = count,
      .min_count = std::nullopt,
      // The topology annotations become the pod set's request; a Workload contains no other metadata of the
      // pod.
      .pod_template = {.metadata_text = muster::to_text(json{{"annotations", pod.meta.annotations}}), .spec = pod.spec},
      .topology_request_text = {},
      .asks_for_topology = false};
}

bool is_fast(const PodGroup& group) {
  return group.meta.annotation(kPodGroupFastAdmission) == "true";
}

Failure<GroupError> stop(std::string message, bool lasting, bool told = false) {
  return fail_with(GroupError{std::move(message), lasting, told});
}

// In the order of the first pod of each role.
std::vector<PodSet> by_role(const Pods& pods) {
  std::vector<PodSet> pod_sets;
  for (const QueuedPodPtr& pod : pods) {
    if (!pod->counts()) continue;
    const auto found = std::find_if(pod_sets.begin(), pod_sets.end(),
                                    [&](const PodSet& pod_set) { return pod_set.name == pod->role; });
    if (found == pod_sets.end())
      pod_sets.push_back(pod_set_of(*pod, pod->role, 1));
    else
      ++found->count;
  }
  return pod_sets;
}

// Pod sets get flavors in their order. Users can choose the name of a role, so what the pods ask for decides the
// order, and for equal roles the names of their pods.
std::vector<PodSet> by_shape(std::vector<PodSet> pod_sets) {
  if (pod_sets.size() < 2) return pod_sets;
  std::vector<std::pair<std::string, PodSet>> shapes;
  for (PodSet& pod_set : pod_sets) {
    std::string shape = shape_hash(json::parse(pod_set.pod_template.spec->text, nullptr, false));
    shapes.emplace_back(std::move(shape), std::move(pod_set));
  }
  std::stable_sort(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(shapes.begin(), shapes.end(), pod_sets.begin(), [](auto& shape) { return std::move(shape.second); });
  return pod_sets;
}

// The index of a pod in its group, if the first pod has one.
Outcome<GroupError> check_index(const PodGroup& group, int32_t count) {
  const auto found = group.meta.labels.find(kPodGroupPodIndex);
  if (found == group.meta.labels.end()) return Done{};
  const std::string start =
      "incorrect label value \"" + found->second + "\" for  \"" + group.meta.ns + "/" + group.meta.name + "\": ";
  const std::string& text = found->second;
  const auto index = go_parse_uint(text);
  if (!index) return stop(start + "invalid unsigned integer: " + index.error().message, false);
  if (*index >= static_cast<uint64_t>(count))
    return stop(start + "validation error: value should be less than " + std::to_string(count), false);
  return Done{};
}

// All pods that have not failed must name the same queue and the same count.
Outcome<GroupError> check_agreement(const PodGroup& group, int32_t count) {
  const QueuedPod& first = *group.pods.front();
  const auto disagree = [&](const QueuedPod& pod, const std::string& what, const std::string& one,
                            const std::string& other) {
    return stop(
        "pods '" + first.meta.name + "' and '" + pod.meta.name + "' has different " + what + ": " + one + "!=" + other,
        true);
  };
  const std::string queue(first.meta.label(kQueueNameLabel));
  const std::string key(kPodGroupTotalCount);
  for (const QueuedPodPtr& pod : group.pods) {
    if (pod->failed()) continue;
    const std::string its_queue(pod->meta.label(kQueueNameLabel));
    if (its_queue != queue) return disagree(*pod, "queue names", queue, its_queue);
    const auto its_count = go_atoi(pod->meta.annotation(kPodGroupTotalCount));
    if (!its_count) {
      return stop("failed to extract '" + key + "' annotation from the pod '" + pod->meta.name +
                      "': " + its_count.error().message,
                  false);
    }
    if (*its_count != count)
      return disagree(*pod, "'" + key + "' values", std::to_string(count), std::to_string(*its_count));
  }
  return Done{};
}

// A role that the Workload has with fewer pods, or not at all, is another group's.
bool is_equivalent(const std::vector<PodSet>& wanted, const Workload& workload) {
  const bool over = workload.finished();
  if (!over && workload.pod_sets.size() < wanted.size()) return false;
  return std::all_of(wanted.begin(), wanted.end(), [&](const PodSet& pod_set) {
    const PodSet* present = workload.find(pod_set.name);
    return present != nullptr && (over || present->count >= pod_set.count);
  });
}

}  // namespace

Result<std::vector<PodSet>, GroupError> pod_sets_of(const PodGroup& group) {
  if (group.group.empty()) return std::vector<PodSet>{pod_set_of(*group.pods.front(), "main", 1)};
  if (!is_fast(group)) return by_shape(by_role(group.pods));
  const auto count = total_count(group);
  if (!count) return stop(count.error().message, false);
  const auto first =
      std::find_if(group.pods.begin(), group.pods.end(), [](const QueuedPodPtr& pod) { return pod->counts(); });
  if (first == group.pods.end()) return stop("failed to find a runnable pod in the group", false);
  return std::vector<PodSet>{pod_set_of(**first, (*first)->role, *count)};
}

Result<GroupMembers, GroupError> members_of(const PodGroup& group) {
  const auto count = total_count(group);
  if (!count) return stop(count.error().message, false);
  if (auto fits = check_index(group, *count); !fits) return fail_with(fits.error());
  Pods counting;
  for (const QueuedPodPtr& pod : group.pods) {
    if (pod->counts()) counting.push_back(pod);
  }
  const auto wanted = static_cast<size_t>(*count);
  if (!is_fast(group) && counting.size() < wanted)
    return stop("'" + group.group + "' group has fewer runnable pods than expected", true, true);
  if (auto fits = check_agreement(group, *count); !fits) return fail_with(fits.error());
  GroupMembers members;
  if (counting.size() <= wanted) {
    members.members = group.pods;
    return members;
  }
  std::stable_sort(counting.begin(), counting.end(), is_kept_before);
  move_tail(counting, wanted, members.excess);
  members.members = std::move(counting);
  return members;
}

Result<Labels, GroupError> labels_to_copy(const Pods& pods, const std::vector<std::string>& keys) {
  Labels labels;
  for (const QueuedPodPtr& pod : pods) {
    for (const std::string& key : keys) {
      const auto found = pod->meta.labels.find(key);
      if (found == pod->meta.labels.end()) continue;
      const auto [place, is_new] = labels.emplace(*found);
      if (!is_new && place->second != found->second)
        return stop("constructing workload: pods have different label values", false);
    }
  }
  return labels;
}

GroupMatch match(const PodGroup& group, const Workload& workload, Timestamp now) {
  GroupMatch found;
  for (const PodSet& pod_set : workload.pod_sets) {
    const auto gone_here = group.gone.find(pod_set.name);
    const auto places = static_cast<size_t>(
        std::max<int64_t>(int64_t{pod_set.count} - (gone_here == group.gone.end() ? 0 : gone_here->second), 0));
    Pods counting = with_role(group.pods, pod_set.name, true);
    Pods over = with_role(group.pods, pod_set.name, false);
    const size_t all = counting.size();
    // A group that starts with its first pod misses a pod only if it has none.
    if (all < places) found.absent += is_fast(group) ? (all == 0 ? 1 : 0) : static_cast<int32_t>(places - all);
    if (all > places) {
      std::stable_sort(counting.begin(), counting.end(), is_kept_before);
      move_tail(counting, places, found.excess);
    }
    const size_t left_over = over.size() + all > places ? std::min(over.size(), over.size() + all - places) : 0;
    if (left_over > 0) {
      std::stable_sort(over.begin(), over.end(), [&](const QueuedPodPtr& a, const QueuedPodPtr& b) {
        if (has_finalizer(*a) != has_finalizer(*b)) return has_finalizer(*a);
        const Timestamp one = last_active(*a, now), other = last_active(*b, now);
        return one == other ? a->meta.created < b->meta.created : other < one;
      });
      move_tail(over, over.size() - left_over, found.replaced);
    }
    found.kept.insert(found.kept.end(), counting.begin(), counting.end());
    found.kept.insert(found.kept.end(), over.begin(), over.end());
  }
  found.suits = !found.kept.empty() && is_equivalent(by_role(found.kept), workload);
  return found;
}

}  // namespace muster::jobs
