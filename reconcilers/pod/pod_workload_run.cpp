#include "reconcilers/pod/pod_workload_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/workload_conditions.h"
#include "reconcilers/job/job_workload_infos.h"
#include "state/metrics/measurements.h"
#include "state/pod_requests.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// A missing flavor can be created later. Events of flavors do not lead to pods.
constexpr Duration kFlavorInterval = std::chrono::seconds(5);

void mark(const PodContext& context, const QueuedPod& pod, const std::string& reason, const std::string& message,
          Plan& plan) {
  json conditions = json::parse(pod.conditions_text);
  conditions.erase(
      std::remove_if(conditions.begin(), conditions.end(),
                     [](const json& condition) { return condition.value("type", "") == kTerminationTarget; }),
      conditions.end());
  json target = {{"type", kTerminationTarget},
                 {"status", "True"},
                 {"reason", reason},
                 {"message", message},
                 {"lastTransitionTime", format_rfc3339(context.job.stamp())}};
  conditions.insert(conditions.begin(), std::move(target));
  json patch = {{"status", {{"conditions", std::move(conditions)}}}};
  plan.writes.push_back({.verb = Verb::kPatchStatus,
                         .target = key_of(kQueuedPods, pod.meta),
                         .body = with_version(pod.meta, std::move(patch))});
}

ResourceList needs(const PodContext& context, const PodSpec& spec) {
  return state::pod_requests_in(spec, context.group.meta.ns, context.job.state);
}

// What the pod requests more of than the quota counts for a pod of its pod set; empty: none.
std::string exceeds(const PodContext& context, const QueuedPod& pod, const PodSet& pod_set) {
  const ResourceList counted = needs(context, *pod_set.pod_template.spec);
  for (const auto& [name, amount] : needs(context, *pod.spec)) {
    const auto found = counted.find(name);
    const Quantity limit = found == counted.end() ? Quantity() : found->second;
    if (limit < amount) return name + ": it asks for " + amount.text() + ", and " + limit.text() + " is counted";
  }
  if (pod.spec->resource_claims && !pod_set.pod_template.spec->resource_claims)
    return "resourceClaims: it claims devices, and none are counted";
  return "";
}

std::string_view role_in_workload(const PodContext& context, const QueuedPod& pod) {
  return context.is_group() ? std::string_view(pod.role) : std::string_view("main");
}

void fail_to_start(const PodContext& context, const Workload& workload, const QueuedPod& pod, const std::string& why,
                   Plan& plan) {
  const auto& pods = context.group.pods;
  const bool some_run = std::any_of(pods.begin(), pods.end(),
                                    [](const QueuedPodPtr& other) { return !other->gated() && !other->terminated(); });
  if (some_run) {
    plan.events.push_back(event_about(pod, EventReason::kFailedToStart, why));
    return;
  }
  finish_workload(context.job, workload, kFailedToStartReason, why, plan);
}

}  // namespace

bool runs(const QueuedPod& pod) {
  return !pod.gated() && !pod.terminated() && !pod.meta.deleting;
}

Step stop_pods(const PodContext& context, WhichPods which, const std::string& reason, const std::string& message,
               Plan& plan) {
  Step step = Step::kContinue;
  for (const QueuedPodPtr& pod : context.group.pods) {
    if (pod->meta.deleting || (which == WhichPods::kRunning && !runs(*pod))) continue;
    step = Step::kDone;
    if (pod->stopping)
      remove_pod(*pod, event_about(*pod, EventReason::kStopped, message), std::nullopt, plan);
    else
      mark(context, *pod, reason, message, plan);
  }
  return step;
}

void start_pods(const PodContext& context, const Workload& workload, Plan& plan) {
  const auto infos = infos_of_admission(context.job, workload);
  if (!infos && infos.error().retry) return plan.wake_at(context.job.now.wall + kFlavorInterval);
  if (!infos) return fail_to_start(context, workload, *context.group.pods.front(), infos.error().message, plan);
  const std::string queue = workload.status.admission ? workload.status.admission->cluster_queue : "";
  std::vector<Write> writes;
  for (const QueuedPodPtr& pod : context.group.pods) {
    if (!pod->gated() || pod->terminated()) continue;
    const std::string_view role = role_in_workload(context, *pod);
    auto patch = jobs::ungate_patch(*pod, role, *infos);
    if (!patch) return fail_to_start(context, workload, *pod, patch.error().message, plan);
    const PodSet* pod_set = workload.find(role);
    if (const std::string more = pod_set == nullptr ? "" : exceeds(context, *pod, *pod_set); !more.empty()) {
      plan.events.push_back(
          event_about(*pod, EventReason::kFailedToStart,
                      "The pod asks for more than the pod set " + std::string(role) + " of its Workload: " + more +
                          "; delete the pod, and create it as the others of its role are, or without the annotation " +
                          std::string(kRoleHashAnnotation)));
      continue;
    }
    Write write{.verb = Verb::kPatch,
                .target = key_of(kQueuedPods, pod->meta),
                .body = with_version(pod->meta, std::move(*patch)),
                .events = {event_about(*pod, EventReason::kStarted, "Admitted by clusterQueue " + queue)}};
    write.decisions.push_back(
        {"job started",
         {{"job", pod->meta.ns + "/Pod/" + pod->meta.name}, {"message", "Admitted by clusterQueue " + queue}}});
    for (const std::string& gate : pod->gates) {
      if (gate == kAdmissionGate || gate == kTopologyGate)
        write.measurements.push_back(state::removal_of_gate(gate, workload, context.job.stamp()));
    }
    writes.push_back(std::move(write));
  }
  for (Write& write : writes) plan.writes.push_back(std::move(write));
}

}  // namespace muster::reconcilers
