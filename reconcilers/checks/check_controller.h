// The shape of an admission check controller that runs in muster: functions of values. muster asks them about each
// AdmissionCheck with the controller's name, and writes what they answer where the controllers of other programs write
// it: into the check's Active condition and into status.admissionChecks of Workloads. What follows from an answer is
// that of any controller (reconcilers/workload/workload_checks.h, reconcilers/start/check_updates.cpp): Ready admits,
// Retry evicts and resets the other checks, Rejected deactivates.
//
// Source: Kueue, KEP-993 (two-phase admission).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster_queue.h"
#include "api/meta/resource_type.h"
#include "api/workload.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// The Active condition of an AdmissionCheck. ClusterQueues with an inactive check admit no Workload.
struct CheckActive {
  bool active = true;
  std::string reason = "Active";
  std::string message = "The admission check is active";
};

// What a controller reads about one check of one Workload. References for one pass.
struct CheckContext : ReconcileContext {
  const Workload& workload;
  const AdmissionCheckState& known;  // as written last
};

// The next state of a check of a Workload.
struct CheckVerdict {
  std::string_view state;  // kCheckPending, kCheckReady, kCheckRetry or kCheckRejected
  std::string message{};
  // With Retry: the Workload is not requeued before this many seconds.
  std::optional<int32_t> requeue_after_seconds{};
  std::vector<PodSetUpdate> pod_set_updates{};
};

// Without memory; `active`, `judge` and `explain` are never nullptr.
struct CheckController {
  std::string_view name;  // spec.controllerName
  // Kinds whose changes requests_for() gets; can be empty. Each is also a line of kinds/watched_kinds.cpp.
  std::span<const ResourceType* const> watches{};
  // Whether the check can be processed: by its parameters, or because the cluster serves the kind that it needs
  // (ReconcileContext::serves).
  CheckActive (*active)(const ReconcileContext& context, const AdmissionCheck& check);
  // For a Workload with reserved quota whose check is Pending or Ready. It has no memory and is asked again after
  // every change: an equal verdict writes nothing. It adds the writes of its objects to `plan`, and the time at which
  // it has to be asked although no object changes.
  CheckVerdict (*judge)(const CheckContext& context, const AdmissionCheck& check, Plan& plan);
  // For a Workload that the check is not asked about: it is evicted, inactive, finished or without quota, or its
  // ClusterQueue has the check no longer. Adds the writes that remove what judge() has made, and nothing where nothing
  // is left. What a deleted Workload owned goes with it. nullptr: judge() makes no objects.
  void (*release)(const CheckContext& context, const AdmissionCheck& check, Plan& plan) = nullptr;
  // The keys of Workloads that a changed object of `watches` concerns; nullptr without `watches`.
  void (*requests_for)(const state::ClusterState& state, const TypedObject& object,
                       std::vector<ObjectKey>& keys) = nullptr;
  // A sentence about a check that is not Ready, for `muster explain`.
  std::string (*explain)(const CheckContext& context, const AdmissionCheck& check);
};

// nullptr: no controller of muster has this name.
const CheckController* find_check_controller(CheckControllers controllers, std::string_view name);

}  // namespace muster::reconcilers
