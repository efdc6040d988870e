#include "kinds/unqueued_kinds.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "base/ascii.h"
#include "kinds/kind_description.h"
#include "kinds/kind_registry.h"

namespace muster {
namespace {

using nlohmann::json;

// Kubernetes' own kinds that make pods, and kinds whose code is in muster.
constexpr UnqueuedKind kWithoutRow[] = {
    {"deployment", "apps", "v1", "Deployment", "deployments"},
    {"leaderworkerset.x-k8s.io/leaderworkerset", "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet",
     "leaderworkersets", true},
    {"pod", "", "v1", "Pod", "pods", true},
    {"statefulset", "apps", "v1", "StatefulSet", "statefulsets", true},
    {"", "apps", "v1", "DaemonSet", "daemonsets"},
    {"", "apps", "v1", "ReplicaSet", "replicasets"},
    {"", "", "v1", "ReplicationController", "replicationcontrollers"},
};

// With the rows of kinds/rows.
std::vector<UnqueuedKind> all_kinds() {
  std::vector<UnqueuedKind> all(std::begin(kWithoutRow), std::end(kWithoutRow));
  for (const KindDescriptionPtr& row : KindRegistry::built_in()->described())
    all.push_back({row->framework, row->group, row->version, row->kind, row->plural, !row->managed_by.empty()});
  std::stable_sort(all.begin(), all.end(), [](const UnqueuedKind& a, const UnqueuedKind& b) {
    return std::pair(a.framework.empty(), a.framework) < std::pair(b.framework.empty(), b.framework);
  });
  return all;
}

bool has_key_of_ours(const json& map) {
  for (auto it = map.begin(); it != map.end(); ++it) {
    const std::string& key = it.key();
    if (key.starts_with(kKueueKeyPrefix) || key.starts_with(kMusterKeyPrefix)) return true;
  }
  return false;
}

bool has_queue_label(const json& object) {
  return object_at(object, {"metadata", "labels"}).contains(kQueueNameLabel);
}

// The label is on the CronJob and not on its Jobs.
bool misplaces_queue(const json& cron_job) {
  return has_queue_label(cron_job) && !has_queue_label(object_at(cron_job, {"spec", "jobTemplate"}));
}

bool is_word_for(std::string_view word, const UnqueuedKind& kind) {
  return word == kind.kind || word == kind.resource || word == in_small_letters(kind.kind);
}

}  // namespace

std::span<const UnqueuedKind> unqueued_kinds() {
  static const std::vector<UnqueuedKind> kAll = all_kinds();
  return kAll;
}

const UnqueuedKind* find_unqueued_kind(std::string_view group, std::string_view kind) {
  const auto all = unqueued_kinds();
  const auto found = std::find_if(all.begin(), all.end(), [&](const UnqueuedKind& candidate) {
    return candidate.group == group && candidate.kind == kind;
  });
  return found == all.end() ? nullptr : &*found;
}

const UnqueuedKind* find_unqueued_kind(std::string_view word) {
  const auto all = unqueued_kinds();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const UnqueuedKind& candidate) { return is_word_for(word, candidate); });
  return found == all.end() ? nullptr : &*found;
}

bool asks_for_queue(const json& object) {
  return has_key_of_ours(object_at(object, {"metadata", "labels"})) ||
         has_key_of_ours(object_at(object, {"metadata", "annotations"})) ||
         object_at(object, {"spec", "template", "metadata", "labels"}).contains(kQueueNameLabel);
}

std::string unqueued_sentence(std::string_view kind) {
  return "muster does not queue objects of kind " + std::string(kind) +
         ": they run at once and without quota, also if they name a queue. Run the work as a Job or a JobSet, or "
         "remove the labels and annotations of kueue.x-k8s.io and muster.batch.";
}

std::optional<std::string> unqueued_notice(const json& object, const json& old_object) {
  const std::string_view kind = string_at(object, {"kind"}), group = group_of(string_at(object, {"apiVersion"}));
  if (controller_of(object) || !string_at(object, {"metadata", "deletionTimestamp"}).empty()) return std::nullopt;
  if (group == kCronJobGroup && kind == kCronJobKind) {
    if (!misplaces_queue(object) || misplaces_queue(old_object)) return std::nullopt;
    return std::string(kCronJobSentence);
  }
  if (find_unqueued_kind(group, kind) == nullptr) return std::nullopt;
  if (!asks_for_queue(object) || asks_for_queue(old_object)) return std::nullopt;
  return unqueued_sentence(kind);
}

}  // namespace muster
