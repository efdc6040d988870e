// Jobs, pods and Workloads that would run without quota, wait without end, or keep quota that no controller
// releases.
#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "api/pods/pod_phase.h"
#include "api/texts/unmet_requests.h"
#include "commands/moving/rules/preflight.h"
#include "jobs/job_kind.h"
#include "jobs/queue_fields.h"
#include "jobs/queued_job.h"
#include "jobs/unmet_requests.h"
#include "jobs/unread_annotations.h"
#include "kinds/typed_object.h"
#include "kinds/unqueued_kinds.h"

namespace muster::commands {
namespace {

using nlohmann::json;

bool is_queued_kind(const PreflightContext& context, std::string_view api_version, std::string_view kind) {
  const jobs::JobKind* known = jobs::find_job_kind(group_of(api_version), kind);
  return (known != nullptr && known->is_enabled(context.rules)) || context.rules.is_external(api_version, kind);
}

void find_unread_annotations(const PreflightContext& context, const json& object, const jobs::JobKind* kind) {
  for (const std::string& sentence : jobs::unread_annotations_of(object, kind))
    context.add(Severity::kChange, "annotation-without-effect", {object_name(object)}, sentence, "");
}

// What Kueue has put on a pod, and what would happen to it.
struct HeldPod {
  explicit HeldPod(const json& pod) {
    for (const json& gate : array_at(pod, {"spec", "schedulingGates"})) {
      gated |= string_at(gate, {"name"}) == kAdmissionGate;
      placed |= string_at(gate, {"name"}) == kTopologyGate;
    }
    const std::vector<std::string> finalizers = strings_at(pod, {"metadata", "finalizers"});
    finalized = std::find(finalizers.begin(), finalizers.end(), kManagedLabel) != finalizers.end();
  }
  bool any() const { return gated || placed || finalized; }

  bool gated = false, placed = false, finalized = false;
};

// Objects with a queue of kinds that this configuration does not queue.
void find_unqueued(const PreflightContext& context, const json& object) {
  const std::string_view api_version = string_at(object, {"apiVersion"}), kind = string_at(object, {"kind"});
  const std::string_view group = group_of(api_version);
  const jobs::JobKind* known = jobs::find_job_kind(group, kind);
  if (known == nullptr && find_unqueued_kind(group, kind) == nullptr) return;
  if (!label(object, kQueueNameLabel) || controller_of(object) || is_queued_kind(context, api_version, kind)) return;
  if (known == &jobs::plain_pod && HeldPod(object).any()) return;  // find_pod
  const bool offered = known != nullptr && known->is_offered();
  context.add(Severity::kHarm, "kind-not-queued", {object_name(object)},
              "it has a queue, and muster does not queue " + std::string(kind) + "s " +
                  (offered ? "with this configuration" : "at all") + ": such objects would run without quota",
              offered ? "add " + std::string(known->framework) + " to integrations.frameworks"
                      : "run the work as a Job or a JobSet, keep Kueue, or name its controller in "
                        "integrations.externalFrameworks");
}

// A pod template cannot change while the job runs.
void find_unmet_requests(const PreflightContext& context, const json& object, const jobs::JobKind& kind) {
  for (const jobs::UnmetRequest& request : jobs::unmet_requests_of(context.rules, kind, object)) {
    const bool devices = request.problem == kClaimsDevices;
    context.add(Severity::kHarm, devices ? "job-with-devices" : "job-with-topology", {object_name(object)},
                request.place + ": " + std::string(request.problem) + ": if it is evicted it stays pending",
                "let it finish before the move, or create it again without " +
                    std::string(devices ? "resourceClaims" : "its topology annotations"));
  }
}

void find_ray_autoscaler(const PreflightContext& context, const json& object) {
  const json& spec = object_at(object, {"spec"});
  for (const json* cluster : {&spec, &object_at(spec, {"rayClusterSpec"}), &object_at(spec, {"rayClusterConfig"})}) {
    if (group_of(string_at(object, {"apiVersion"})) == "ray.io" && bool_at(*cluster, {"enableInTreeAutoscaling"}))
      context.add(
          Severity::kHarm, "ray-autoscaler", {object_name(object)},
          "Ray adds pods to it while it runs: muster counts those that it had at its start, and refuses such "
          "objects when they are created",
          "let it finish before the move, or create it again with enableInTreeAutoscaling: false and the number "
          "of workers that it needs");
  }
}

bool has_ended(const jobs::JobKind& kind, const json& object) {
  if (&kind == &jobs::plain_pod) return pod_has_ended(object);
  const TypedObject job = read_object(kind.type, object);
  return jobs::QueuedJob(kind, job).end().has_value();
}

void find_job_fields(const PreflightContext& context, const json& object) {
  const jobs::JobKind* kind =
      jobs::find_job_kind(group_of(string_at(object, {"apiVersion"})), string_at(object, {"kind"}));
  if (kind != nullptr && has_ended(*kind, object)) return;
  find_unread_annotations(context, object, kind);
  if (kind != nullptr) find_unmet_requests(context, object, *kind);
  find_ray_autoscaler(context, object);
  if (string_at(object, {"spec", "managedBy"}) == kMultiKueueControllerName)
    context.add(Severity::kHarm, "multikueue-job", {object_name(object)},
                "MultiKueue runs it in another cluster, and muster has no MultiKueue: its status would not be updated",
                "let it finish before the move");
  if (annotation(object, kElasticJobAnnotation) == "true")
    context.add(Severity::kChange, "elastic-job", {object_name(object)},
                "it can grow while it runs; with muster a change of size stops it and queues it again", "");
}

bool holds_quota(const json& workload) {
  return find_path(workload, {"status", "admission"}) != nullptr;
}

// Of an elastic job the newer Workload keeps the name of the older one, "namespace/name", when that is finished.
bool has_given_way(const PreflightContext& context, std::string_view older) {
  const size_t slash = older.find('/');
  if (slash == std::string_view::npos) return false;
  const json* workload =
      context.dump.find("kueue.x-k8s.io", "Workload", older.substr(0, slash), older.substr(slash + 1));
  return workload != nullptr && jobs::condition_is_true(*workload, "Finished");
}

void find_workload(const PreflightContext& context, const json& workload) {
  if (jobs::condition_is_true(workload, "Finished")) return;
  const std::string name = object_name(workload);
  const auto owner = controller_of(workload);
  if (owner && !is_queued_kind(context, owner->api_version, std::string_view(owner->kind)))
    context.add(
        Severity::kHarm, "workload-of-other-kind", {name},
        std::string("its owner is a ") + std::string(std::string_view(owner->kind)) + ", which muster does not run: " +
            (holds_quota(workload) ? "it keeps its quota until the owner is deleted" : "it would never be admitted"),
        "let it finish before the move, or name its controller in integrations.externalFrameworks");
  if (!string_at(workload, {"status", "clusterName"}).empty() ||
      find_path(workload, {"status", "nominatedClusterNames"}))
    context.add(Severity::kHarm, "workload-in-other-cluster", {name}, "MultiKueue has given it to another cluster",
                "let it finish before the move");
  if (label(workload, "kueue.x-k8s.io/concurrent-admission-parent"))
    context.add(Severity::kHarm, "workload-variant", {name},
                "it is a variant of concurrent admission, which muster does not have",
                "turn concurrent admission off and let these Workloads end before the move");
  if (!array_at(workload, {"spec", "preemptionGates"}).empty())
    context.add(Severity::kChange, "workload-with-gates", {name}, "muster does not know its spec.preemptionGates", "");
  if (const auto older = annotation(workload, "kueue.x-k8s.io/workload-slice-replacement-for");
      older && !has_given_way(context, *older))
    context.add(
        Severity::kHarm, "workload-slice", {name},
        "it takes the place of Workload " + std::string(*older) +
            " of the same elastic job: muster keeps one Workload of a job, and stops the job if that has no quota",
        "wait until it is admitted and the other one is finished before the move");
  for (const json& assignment : array_at(workload, {"status", "admission", "podSetAssignments"})) {
    if (find_path(assignment, {"topologyAssignment"}))
      context.add(Severity::kChange, "workload-with-topology", {name},
                  "it was placed in a topology; it keeps its place and its quota, and muster places nothing there", "");
  }
}

// At most one finding for a pod.
void find_pod(const PreflightContext& context, const json& pod) {
  const HeldPod held(pod);
  const bool queued = is_queued_kind(context, "v1", "Pod");
  const auto add = [&](const char* rule, const std::string& problem, const char* remedy) {
    context.add(Severity::kHarm, rule, {object_name(pod)}, problem, remedy);
  };
  const char* queue_or_end = "add pod to integrations.frameworks, or let these pods end before the move";
  if (held.gated && !queued)
    add("pod-with-gate",
        "it has Kueue's scheduling gate, and muster does not queue pods with this configuration: it would never be "
        "scheduled",
        queue_or_end);
  // muster removes both gates of a pod that it admits. Kueue has admitted the others.
  else if (held.placed && !held.gated)
    add("pod-with-topology-gate",
        "it waits for a topology (gate " + std::string(kTopologyGate) + "), and no controller would remove the gate",
        "let it be scheduled before the move, or delete it");
  else if (held.finalized && !queued)
    add("pod-with-finalizer",
        "it has Kueue's finalizer, and muster does not queue pods with this configuration: it could not be deleted",
        queue_or_end);
}

}  // namespace

void preflight_work(const PreflightContext& context) {
  for (const auto& entry : context.dump.objects()) {
    const json& object = entry.second;
    const std::string_view kind = string_at(object, {"kind"});
    if (entry.first.starts_with("kueue.x-k8s.io/")) {
      if (kind == "Workload") find_workload(context, object);
      if (kind == "ClusterQueue") find_unread_annotations(context, object, nullptr);
      continue;
    }
    if (kind == "Pod") find_pod(context, object);
    find_unqueued(context, object);
    if (label(object, kQueueNameLabel)) find_job_fields(context, object);
  }
}

}  // namespace muster::commands
