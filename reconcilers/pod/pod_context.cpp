#include "reconcilers/pod/pod_context.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"

namespace muster::reconcilers {

using nlohmann::json;

ObjectEvent event_about(const QueuedPod& pod, EventReason reason, std::string note) {
  return event_about(kQueuedPods, pod.meta, reason, std::move(note));
}

void remove_pod(const QueuedPod& pod, ObjectEvent event, std::optional<state::Maker> maker, Plan& plan) {
  plan.writes.push_back({.verb = Verb::kDelete,
                         .target = key_of(kQueuedPods, pod.meta),
                         .body = with_version(pod.meta, {}),
                         .uid = pod.meta.uid,
                         .events = {std::move(event)},
                         .maker = std::move(maker)});
}

state::Maker maker_in(const PodGroup& group, std::string part) {
  return {"pod group " + path_of(group.meta.ns, group.group), std::move(part)};
}

void remove_excess(const PodContext& context, const std::vector<QueuedPodPtr>& excess, Plan& plan) {
  int64_t waiting = 0;
  for (const QueuedPodPtr& pod : excess) {
    if (pod->meta.deleting) continue;
    if (pod->gated() && (pod->meta.controller || context.is_of_set())) {
      ++waiting;
      continue;
    }
    // A pod that has started is stopped at once: the next one has a gate.
    std::optional<state::Maker> maker;
    if (pod->gated()) maker = maker_in(context.group, "excess pods");
    remove_pod(*pod, event_about(*pod, EventReason::kExcessPodDeleted, "Excess pod deleted"), std::move(maker), plan);
  }
  // A set tells it itself.
  if (waiting == 0 || context.is_of_set()) return;
  plan.events.push_back(context.job.event(
      EventReason::kExcessPodsWait,
      "The pod group " + context.group.group + " has " + std::to_string(waiting) +
          " more pods than its total count, and they wait, because their controller would create them again; make the "
          "annotation " +
          std::string(kPodGroupTotalCount) + " and the number of pods equal"));
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
