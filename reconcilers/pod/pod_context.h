// One reconciliation of a single pod or of the pods of a group, and the common writes of its parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/pod/pod_group.h"
#include "jobs/serving/serving_set.h"
#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

struct PodContext {
  const PodGroup& group;
  const JobContext& job;  // the same as a job; its events are about the first pod

  const RuleSettings& rules() const { return job.queues().rules; }
  bool is_group() const { return !group.group.empty(); }
  // The Workload is made and kept by the reconciler of the pods' StatefulSet or LeaderWorkerSet.
  bool is_of_set() const { return jobs::is_of_serving_set(*group.pods.front()); }
};

ObjectEvent event_about(const QueuedPod& pod, EventReason reason, std::string note);

// Deletes this very pod. `maker`: of pods that their controller can make again.
void remove_pod(const QueuedPod& pod, ObjectEvent event, std::optional<state::Maker> maker, Plan& plan);

// Deletes excess pods of a group. Those that wait, and that a controller would make again at once, go on waiting.
void remove_excess(const PodContext& context, const std::vector<QueuedPodPtr>& excess, Plan& plan);
// Of what is deleted of a group.
state::Maker maker_in(const PodGroup& group, std::string part);
// The finalizer that Kueue gave to a pod before muster came: nothing depends on it here.
void drop_kueue_finalizers(const std::vector<QueuedPodPtr>& pods, Plan& plan);

// Calls `use` with a context of these pods.
template <class Use>
auto with_context(PodGroup group, const ReconcileContext& context, Use use) {
  const auto pods = std::make_shared<const PodGroup>(std::move(group));
  const TypedObject object = pods;
  const jobs::QueuedJob job(jobs::plain_pod, object);
  const JobContext job_context{context, job};
  return use(PodContext{*pods, job_context});
}

}  // namespace muster::reconcilers
