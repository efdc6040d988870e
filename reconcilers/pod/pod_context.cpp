#include "reconcilers/pod/pod_context.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"

namespace muster::reconcilers {

using nlohmann::json;

ObjectEvent event_about(const QueuedPod& pod, std::string_view type, std::string_view reason, std::string note) {
  return event_about(kQueuedPods, pod.meta, type, reason, std::move(note));
}

void remove_pod(const QueuedPod& pod, ObjectEvent event, Plan& plan) {
  plan.writes.push_back({.verb = Verb::kDelete,
                         .target = key_of(kQueuedPods, pod.meta),
                         .body = with_version(pod.meta, {}),
                         .uid = pod.meta.uid,
                         .events = {std::move(event)}});
}

void drop_kueue_finalizers(const std::vector<QueuedPodPtr>& pods, Plan& plan) {
  for (const QueuedPodPtr& pod : pods) {
    json left = json::array();
    for (const SharedText& finalizer : pod->meta.finalizers) {
      if (finalizer != kManagedLabel) left.push_back(finalizer.text());
    }
    if (left.size() == pod->meta.finalizers.size()) continue;
    json patch = {{"metadata", {{"finalizers", left.empty() ? json() : std::move(left)}}}};
    plan.writes.push_back({.verb = Verb::kPatch,
                           .target = key_of(kQueuedPods, pod->meta),
                           .body = with_version(pod->meta, std::move(patch))});
  }
}

}  // namespace muster::reconcilers
