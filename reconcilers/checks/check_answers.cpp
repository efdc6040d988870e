#include "reconcilers/checks/check_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconcilers/workload/workload_editor.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

// Answers belong to a reservation. Retry and Rejected are obeyed first: an eviction makes such a check Pending again.
bool asks_checks(const Workload& workload) {
  return workload.has_quota_reserved() && workload.status.admission && workload.active && !workload.evicted() &&
         !workload.finished() && !workload.meta.deleting;
}

bool is_answered(const AdmissionCheckState& known) {
  return known.state == kCheckRetry || known.state == kCheckRejected;
}

void take_verdict(CheckVerdict verdict, Timestamp stamp, AdmissionCheckState& known) {
  if (known.state != verdict.state) known.last_transition = stamp;
  known.state = std::string(verdict.state);
  known.message = std::move(verdict.message);
  known.requeue_after_seconds = verdict.requeue_after_seconds;
  known.pod_set_updates = std::move(verdict.pod_set_updates);
}

const AdmissionCheckState* find_state(const Workload& workload, std::string_view check) {
  const auto& states = workload.status.admission_checks;
  const auto found =
      std::find_if(states.begin(), states.end(), [&](const AdmissionCheckState& state) { return state.name == check; });
  return found == states.end() ? nullptr : &*found;
}

// Checks that a Workload does not ask can have objects from the time when it did.
void release(const Workload& workload, const ReconcileContext& context, Plan& plan) {
  const bool asks = asks_checks(workload);
  context.state.for_each_of(kAdmissionChecks, [&](const TypedObject& object) {
    const AdmissionCheck& check = *std::get<AdmissionCheckPtr>(object);
    const CheckController* controller = find_check_controller(context.check_controllers, check.controller);
    if (controller == nullptr || controller->release == nullptr) return;
    const AdmissionCheckState* known = find_state(workload, check.meta.name);
    if (asks && known != nullptr) return;
    AdmissionCheckState none;
    none.name = check.meta.name;
    controller->release({context, workload, known == nullptr ? none : *known}, check, plan);
  });
}

void answer(const Workload& workload, const ReconcileContext& context, Plan& plan) {
  release(workload, context, plan);
  if (!asks_checks(workload)) return;
  WorkloadEditor editor(workload, context);
  for (AdmissionCheckState& known : editor.status.admission_checks) {
    const AdmissionCheck* check = context.state.find<AdmissionCheck>(known.name);
    if (check == nullptr || !check->active() || is_answered(known)) continue;
    const CheckController* controller = find_check_controller(context.check_controllers, check->controller);
    if (controller == nullptr) continue;
    // `known` changes with the verdict, and the verdict is about what is written.
    const AdmissionCheckState written = known;
    take_verdict(controller->judge({context, workload, written}, *check, plan), whole_seconds(editor.time()), known);
  }
  editor.write_into(plan);
}

void keep_active(const AdmissionCheck& check, const ReconcileContext& context, Plan& plan) {
  const CheckController* controller = find_check_controller(context.check_controllers, check.controller);
  if (controller == nullptr || check.meta.deleting) return;
  const CheckActive active = controller->active(context, check);
  Conditions conditions = check.conditions;
  const bool changed = set_condition(conditions, {.type = kActiveCondition,
                                                  .status = active.active ? "True" : "False",
                                                  .reason = active.reason,
                                                  .message = active.message,
                                                  .last_transition = whole_seconds(context.now.wall),
                                                  .observed_generation = check.meta.generation});
  if (!changed) return;
  plan.writes.push_back({.verb = Verb::kPatchStatus,
                         .target = key_of(kAdmissionChecks, check.meta),
                         .body = with_version(check.meta, {{"status", {{"conditions", to_json(conditions)}}}})});
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  if (context.check_controllers.empty()) return plan;
  if (*key.type == kWorkloads) {
    if (const Workload* workload = context.state.find<Workload>(key.ns, key.name)) answer(*workload, context, plan);
  } else if (*key.type == kAdmissionChecks) {
    if (const AdmissionCheck* check = context.state.find<AdmissionCheck>(key.name)) keep_active(*check, context, plan);
  }
  return plan;
}

// A changed Workload or AdmissionCheck is the key of another reconciler. What controllers need is in
// add_check_requests().
void requests_for(const state::ClusterState&, const TypedObject&, std::vector<ObjectKey>&) {}

void add_workloads_of(const AdmissionCheck& check, const state::ClusterState& state, std::vector<ObjectKey>& keys) {
  for (const ClusterQueue* queue : state.by(state::kClusterQueuesByCheck, {"", check.meta.name})) {
    for (const Workload* workload : state.by(state::kWorkloadsByClusterQueue, {"", queue->meta.name}))
      keys.push_back(key_of(kWorkloads, workload->meta));
  }
}

void add_checks_of(const CheckController& controller, const state::ClusterState& state, std::vector<ObjectKey>& keys) {
  state.for_each_of(kAdmissionChecks, [&](const TypedObject& object) {
    if (std::get<AdmissionCheckPtr>(object)->controller == controller.name) keys.push_back(key_of(object));
  });
}

bool watches(const CheckController& controller, const ResourceType& type) {
  return std::any_of(controller.watches.begin(), controller.watches.end(),
                     [&](const ResourceType* watched) { return *watched == type; });
}

constexpr const ResourceType* kKinds[] = {&kWorkloads, &kAdmissionChecks};

}  // namespace

const CheckController* find_check_controller(CheckControllers controllers, std::string_view name) {
  const auto found = std::find_if(controllers.begin(), controllers.end(),
                                  [&](const CheckController* controller) { return controller->name == name; });
  return found == controllers.end() ? nullptr : *found;
}

void add_check_requests(CheckControllers controllers, const state::ClusterState& state, const TypedObject& object,
                        std::vector<ObjectKey>& keys) {
  const auto* check = std::get_if<AdmissionCheckPtr>(&object);
  if (check != nullptr && find_check_controller(controllers, (*check)->controller) != nullptr)
    add_workloads_of(**check, state, keys);
  for (const CheckController* controller : controllers) {
    if (!watches(*controller, type_of(object))) continue;
    // Whether a check is active can depend on the object.
    add_checks_of(*controller, state, keys);
    controller->requests_for(state, object, keys);
  }
}

const Reconciler check_answers_reconciler = {
    .name = "check_answers", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
