#include "reconcilers/gang/group_scheduling_owner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "jobs/group_scheduling.h"
#include "reconcilers/workload/workload_timeouts.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

Write patch_status(const GangOwner& owner, json status) {
  return {.verb = Verb::kPatchStatus,
          .target = owner.key,
          .body = with_version(owner.meta(), {{"status", std::move(status)}})};
}

// The owner's Workload as long as it lets the owner run; nullptr: it is not queued.
const Workload* admitted_workload(const GangOwner& owner, const state::ClusterState& state) {
  for (const Workload* workload : state.by(state::kWorkloadsByOwner, {"", owner.meta().uid})) {
    if (workload->admitted() && !workload->finished()) return workload;
  }
  return nullptr;
}

// Returns no write if the Workload is already being evicted.
std::optional<Write> evict(const Workload& workload, const ReconcileContext& context, const std::string& message) {
  if (workload.evicted() || workload.is_true(kDeactivationTargetCondition)) return std::nullopt;
  const auto& wait = context.queues().wait_for_pods_ready;
  WorkloadEditor editor(workload, context);
  evict_late_gang(editor, wait ? wait->requeuing : context.queues().late_gang_requeuing, message);
  Plan plan;
  editor.write_into(plan);
  return std::move(plan.writes.front());
}

}  // namespace

bool GangOwner::ends() const {
  if (jobset != nullptr) return jobset->finished();
  return job->finished() || condition_is_true(job->status.conditions, "FailureTarget") ||
         condition_is_true(job->status.conditions, "SuccessCriteriaMet");
}

bool GangOwner::suspends_on_timeout() const {
  return barrier.suspend_on_timeout || !meta().label(kQueueNameLabel).empty();
}

std::optional<GangOwner> find_gang_owner(const ObjectKey& key, const state::ClusterState& state) {
  GangOwner owner{.key = key, .barrier = {}};
  if (*key.type == kJobSets) {
    owner.jobset = state.find<JobSet>(key.ns, key.name);
    if (owner.jobset == nullptr || !jobs::jobset.is_managed_by(owner.jobset->managed_by)) return std::nullopt;
    const auto& jobs = owner.jobset->replicated_jobs;
    const auto target = std::find_if(jobs.begin(), jobs.end(), [](const ReplicatedJob& job) { return job.barrier; });
    if (target == jobs.end()) return std::nullopt;
    owner.barrier = *target->barrier;
  } else {
    owner.job = state.find<Job>(key.ns, key.name);
    if (owner.job == nullptr || !jobs::batch_job.is_managed_by(owner.job->managed_by)) return std::nullopt;
    const auto gang = state::GangIndex::owner_of(*owner.job);
    if (!gang || !(*gang == key)) return std::nullopt;
    owner.barrier = *owner.job->barrier;
  }
  if (owner.meta().deleting) return std::nullopt;
  return owner;
}

ObjectEvent event_on(const GangOwner& owner, EventReason reason, std::string note) {
  return event_about(*owner.key.type, owner.meta(), reason, std::move(note));
}

Write create_config_map(const GangOwner& owner, json data) {
  const ObjectMeta& meta = owner.meta();
  json body = {{"apiVersion", kConfigMaps.api_version},
               {"kind", kConfigMaps.kind},
               {"metadata",
                {{"name", owner.barrier.config_map},
                 {"namespace", meta.ns},
                 {"labels", {{kGroupLabel, kGroupLabelValue}, {"app.kubernetes.io/managed-by", "muster"}}},
                 {"ownerReferences", json::array({controller_reference(*owner.key.type, meta, false)})}}},
               {"data", std::move(data)}};
  const ObjectKey key = owner.config_map();
  return {.verb = Verb::kCreate,
          .target = key,
          .body = std::move(body),
          .refusal = event_on(owner, EventReason::kConfigMapCreationFailed,
                              "ConfigMap " + path_of(key.ns, key.name) + " of the start barrier cannot be created: "),
          .maker = state::Maker{meta.uid, "ConfigMaps of gangs"}};
}

std::optional<Write> write_group_started(const GangOwner& owner, bool is_true, std::string_view reason,
                                         std::string_view message, TimePoint now) {
  Conditions conditions = owner.conditions();
  const bool changed = set_condition(conditions, {.type = kGroupStartedCondition,
                                                  .status = is_true ? "True" : "False",
                                                  .reason = reason,
                                                  .message = message,
                                                  .last_transition = to_timestamp(now)});
  if (!changed) return std::nullopt;
  return patch_status(owner, {{"conditions", muster::to_json(conditions)}});
}

std::optional<Write> end_owner(const GangOwner& owner, const ReconcileContext& context, const std::string& message) {
  if (const Workload* workload = admitted_workload(owner, context.state)) return evict(*workload, context, message);
  if (owner.suspends_on_timeout()) {
    return Write{
        .verb = Verb::kPatch, .target = owner.key, .body = with_version(owner.meta(), {{"spec", {{"suspend", true}}}})};
  }
  Conditions conditions = owner.conditions();
  set_condition(conditions, {.type = owner.jobset != nullptr ? "Failed" : "FailureTarget",
                             .status = "True",
                             .reason = std::string(kGroupSchedulingTimeout),
                             .message = message,
                             .last_transition = to_timestamp(context.now.wall)});
  json status = {{"conditions", muster::to_json(conditions)}};
  if (owner.jobset != nullptr) status["terminalState"] = "Failed";
  return patch_status(owner, std::move(status));
}

std::optional<Write> clear_start_time(const GangOwner& owner) {
  if (owner.job == nullptr || !owner.job->suspended) return std::nullopt;
  const JobStatus& status = owner.job->status;
  if (status.start_time.is_zero() || status.active != 0 || !condition_is_true(status.conditions, "Suspended"))
    return std::nullopt;
  return patch_status(owner, {{"startTime", nullptr}});
}

}  // namespace muster::reconcilers
