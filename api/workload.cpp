#include "api/workload.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"

namespace muster {
namespace {

using nlohmann::json;

std::string text_at(const json& object, std::string_view key) {
  return std::string(string_at(object, {key}));
}

std::vector<AdmissionCheckState> read_checks(const json& status) {
  std::vector<AdmissionCheckState> checks;
  for (const json& item : array_at(status, {"admissionChecks"})) {
    AdmissionCheckState check{.name = text_at(item, "name"),
                              .state = text_at(item, "state"),
                              .message = text_at(item, "message"),
                              .last_transition = time_at(item, {"lastTransitionTime"}),
                              .requeue_after_seconds = optional_int32_at(item, {"requeueAfterSeconds"}),
                              .retry_count = optional_int32_at(item, {"retryCount"}),
                              .pod_set_updates = {}};
    for (const json& update : array_at(item, {"podSetUpdates"})) {
      check.pod_set_updates.push_back({.name = text_at(update, "name"),
                                       .labels = read_string_map(object_at(update, {"labels"})),
                                       .annotations = read_string_map(object_at(update, {"annotations"})),
                                       .node_selector = read_string_map(object_at(update, {"nodeSelector"})),
                                       .tolerations = read_tolerations(array_at(update, {"tolerations"}))});
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

std::optional<RequeueState> read_requeue_state(const json& status) {
  const json* object = find_path(status, {"requeueState"});
  if (object == nullptr || !object->is_object()) return std::nullopt;
  return RequeueState{.count = optional_int32_at(*object, {"count"}),
                      .requeue_at = time_at(*object, {"requeueAt"}),
                      .first_admitted_at = time_at(*object, {"firstAdmittedAt"})};
}

WorkloadStatus read_workload_status(const json& object) {
  const json& status = object_at(object, {"status"});
  WorkloadStatus read;
  read.conditions = read_conditions(array_at(status, {"conditions"}));
  read.admission = read_admission(find_path(status, {"admission"}));
  read.admission_checks = read_checks(status);
  read.requeue_state = read_requeue_state(status);
  for (const json& item : array_at(status, {"reclaimablePods"})) {
    read.reclaimable_pods.push_back({.name = text_at(item, "name"), .count = int32_at(item, {"count"})});
  }
  for (const json& item : array_at(status, {"schedulingStats", "evictions"})) {
    read.evictions.push_back({.reason = text_at(item, "reason"),
                              .underlying_cause = text_at(item, "underlyingCause"),
                              .count = int32_at(item, {"count"})});
  }
  read.accumulated_past_execution_seconds = int32_at(status, {"accumulatedPastExecutionTimeSeconds"});
  read.flavors = read_flavor_history(status);
  return read;
}

json to_json(const AdmissionCheckState& check) {
  json object = {{"name", check.name},
                 {"state", check.state},
                 {"message", check.message},
                 {"lastTransitionTime", time_to_json(check.last_transition)}};
  if (check.requeue_after_seconds) object["requeueAfterSeconds"] = *check.requeue_after_seconds;
  if (check.retry_count) object["retryCount"] = *check.retry_count;
  for (const PodSetUpdate& update : check.pod_set_updates) {
    json item = {{"name", update.name}};
    put_map(item, "labels", update.labels);
    put_map(item, "annotations", update.annotations);
    put_map(item, "nodeSelector", update.node_selector);
    if (!update.tolerations.empty()) item["tolerations"] = muster::to_json(update.tolerations);
    object["podSetUpdates"].push_back(std::move(item));
  }
  return object;
}

json to_json(const std::optional<RequeueState>& state) {
  if (!state) return nullptr;
  // null for a removed field: the result becomes part of a merge patch.
  return {{"count", state->count ? json(*state->count) : json()},
          {"requeueAt", time_to_json(state->requeue_at)},
          {"firstAdmittedAt", time_to_json(state->first_admitted_at)}};
}

json to_json(const std::vector<EvictionCount>& evictions) {
  json list = json::array();
  for (const EvictionCount& eviction : evictions) {
    list.push_back(
        {{"reason", eviction.reason}, {"underlyingCause", eviction.underlying_cause}, {"count", eviction.count}});
  }
  return {{"evictions", std::move(list)}};
}

// A list of a status: null when it has become empty.
template <class Item, class Print>
json list_or_null(const std::vector<Item>& items, Print print) {
  if (items.empty()) return nullptr;
  json list = json::array();
  for (const Item& item : items) list.push_back(print(item));
  return list;
}

}  // namespace

const PodSet* Workload::find(std::string_view pod_set) const {
  const auto found = std::find_if(pod_sets.begin(), pod_sets.end(),
                                  [&](const PodSet& candidate) { return candidate.name == pod_set; });
  return found == pod_sets.end() ? nullptr : &*found;
}

std::optional<Duration> execution_time_left(const Workload& workload, Duration admitted_for) {
  if (!workload.maximum_execution_seconds) return std::nullopt;
  const int64_t seconds =
      int64_t{*workload.maximum_execution_seconds} - workload.status.accumulated_past_execution_seconds;
  return std::chrono::seconds(seconds) - admitted_for;
}

WorkloadPtr read_workload(const json& object) {
  auto workload = std::make_shared<Workload>();
  workload->meta = read_meta(object);
  if (workload->meta.annotation(kIsGroupWorkload) == "true")
    workload->group_owners_text = to_text(array_at(object, {"metadata", "ownerReferences"}));
  const json& spec = object_at(object, {"spec"});
  workload->queue_name = string_at(spec, {"queueName"});
  if (const json* active = find_path(spec, {"active"}); active != nullptr && active->is_boolean())
    workload->active = active->get<bool>();
  workload->priority = int32_at(spec, {"priority"});
  if (const json& reference = object_at(spec, {"priorityClassRef"}); !reference.empty()) {
    workload->priority_class = {
        .group = text_at(reference, "group"), .kind = text_at(reference, "kind"), .name = text_at(reference, "name")};
  }
  workload->maximum_execution_seconds = optional_int32_at(spec, {"maximumExecutionTimeSeconds"});
  for (const json& item : array_at(spec, {"podSets"})) workload->pod_sets.push_back(read_pod_set(item));
  workload->status = read_workload_status(object);
  return workload;
}

json status_patch(const WorkloadStatus& before, const WorkloadStatus& status) {
  json patch = json::object();
  if (status.conditions != before.conditions) patch["conditions"] = to_json(status.conditions);
  if (status.admission != before.admission)
    patch["admission"] = status.admission ? to_json(*status.admission) : json(nullptr);
  if (status.admission_checks != before.admission_checks) {
    patch["admissionChecks"] =
        list_or_null(status.admission_checks, [](const AdmissionCheckState& check) { return to_json(check); });
  }
  if (status.requeue_state != before.requeue_state) patch["requeueState"] = to_json(status.requeue_state);
  if (status.reclaimable_pods != before.reclaimable_pods) {
    patch["reclaimablePods"] =
        list_or_null(status.reclaimable_pods, [](const ReclaimablePod& pod) { return to_json(pod); });
  }
  if (status.evictions != before.evictions) patch["schedulingStats"] = to_json(status.evictions);
  if (const int32_t seconds = status.accumulated_past_execution_seconds;
      seconds != before.accumulated_past_execution_seconds) {
    patch["accumulatedPastExecutionTimeSeconds"] = seconds == 0 ? json() : json(seconds);
  }
  put_flavor_history(before.flavors, status.flavors, patch);
  return patch;
}

}  // namespace muster
