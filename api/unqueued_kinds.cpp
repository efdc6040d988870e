#include "api/unqueued_kinds.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "base/ascii.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr UnqueuedKind kKinds[] = {
    {"deployment", "apps", "v1", "Deployment", "deployments"},
    {"kubeflow.org/jaxjob", "kubeflow.org", "v1", "JAXJob", "jaxjobs"},
    {"kubeflow.org/mpijob", "kubeflow.org", "v2beta1", "MPIJob", "mpijobs"},
    {"kubeflow.org/paddlejob", "kubeflow.org", "v1", "PaddleJob", "paddlejobs"},
    {"kubeflow.org/pytorchjob", "kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"},
    {"kubeflow.org/tfjob", "kubeflow.org", "v1", "TFJob", "tfjobs"},
    {"kubeflow.org/xgboostjob", "kubeflow.org", "v1", "XGBoostJob", "xgboostjobs"},
    {"leaderworkerset.x-k8s.io/leaderworkerset", "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet",
     "leaderworkersets"},
    {"pod", "", "v1", "Pod", "pods"},
    {"ray.io/raycluster", "ray.io", "v1", "RayCluster", "rayclusters"},
    {"ray.io/rayjob", "ray.io", "v1", "RayJob", "rayjobs"},
    {"ray.io/rayservice", "ray.io", "v1", "RayService", "rayservices"},
    {"sparkoperator.k8s.io/sparkapplication", "sparkoperator.k8s.io", "v1beta2", "SparkApplication",
     "sparkapplications"},
    {"statefulset", "apps", "v1", "StatefulSet", "statefulsets"},
    {"trainer.kubeflow.org/trainjob", "trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"},
    {"workload.codeflare.dev/appwrapper", "workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers"},
    {"", "apps", "v1", "DaemonSet", "daemonsets"},
    {"", "apps", "v1", "ReplicaSet", "replicasets"},
    {"", "", "v1", "ReplicationController", "replicationcontrollers"},
};

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
  return kKinds;
}

const UnqueuedKind* find_unqueued_kind(std::string_view group, std::string_view kind) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const UnqueuedKind& candidate) {
    return candidate.group == group && candidate.kind == kind;
  });
  return found == std::end(kKinds) ? nullptr : found;
}

const UnqueuedKind* find_unqueued_kind(std::string_view word) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const UnqueuedKind& candidate) { return is_word_for(word, candidate); });
  return found == std::end(kKinds) ? nullptr : found;
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
