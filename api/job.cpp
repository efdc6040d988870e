#include "api/job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/resource_type.h"
#include "api/meta/selectors.h"
#include "api/pods/waiter_timeout.h"

namespace muster {
namespace {

using nlohmann::json;

const json* find_named(const json& list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const json& item) { return string_at(item, {"name"}) == name; });
  return found == list.end() ? nullptr : &*found;
}

bool is_of_jobset(const ObjectMeta& meta) {
  const auto& owner = meta.controller;
  return owner && owner->kind == kJobSets.kind && group_of(owner->api_version) == kJobSets.group;
}

// All but the Jobs of JobSets, which are many and part of their JobSet's Workload.
bool may_have_workload(const ObjectMeta& meta) {
  return !is_of_jobset(meta) || !meta.label(kQueueNameLabel).empty();
}

std::string list_text(const json& list) {
  return list.empty() ? std::string() : to_text(list);
}

}  // namespace

std::optional<Barrier> read_barrier(const json& pod_template) {
  const json* waiter = find_named(array_at(pod_template, {"spec", "initContainers"}), kGroupInitContainer);
  const json* volume = find_named(array_at(pod_template, {"spec", "volumes"}), kGroupVolume);
  if (waiter == nullptr || volume == nullptr) return std::nullopt;
  Barrier barrier;
  barrier.config_map = string_at(*volume, {"configMap", "name"});
  barrier.epoch = annotation(pod_template, kGroupEpochAnnotation).value_or("");
  barrier.timeout_seconds = waiter_timeout_seconds(*waiter).value_or(0);
  barrier.suspend_on_timeout = annotation(pod_template, kGroupOnTimeoutAnnotation) == "Suspend";
  if (barrier.config_map.empty()) return std::nullopt;
  return barrier;
}

int32_t pods_at_once(int32_t parallelism, std::optional<int64_t> completions) {
  const int64_t pods = completions ? std::min<int64_t>(parallelism, *completions) : parallelism;
  return static_cast<int32_t>(std::max<int64_t>(pods, 0));
}

int32_t Job::pods_expected() const {
  if (finished()) return 0;
  return pods_at_once(parallelism,
                      completions ? std::optional(int64_t{*completions} - status.succeeded) : std::nullopt);
}

JobPtr read_job(const json& object) {
  auto job = std::make_shared<Job>();
  job->meta = read_meta(object);
  job->suspended = bool_at(object, {"spec", "suspend"});
  job->parallelism = int32_at(object, {"spec", "parallelism"}, 1);
  if (int_at(object, {"spec", "completions"})) job->completions = int32_at(object, {"spec", "completions"});
  job->indexed = string_at(object, {"spec", "completionMode"}) == "Indexed";
  job->managed_by = string_at(object, {"spec", "managedBy"});
  if (bool_at(object, {"spec", "manualSelector"})) {
    if (const auto selector = LabelSelector::parse(object_at(object, {"spec", "selector"})))
      job->pod_selector = selector->text();
  }
  const json& pod_template = object_at(object, {"spec", "template"});
  job->barrier = read_barrier(pod_template);
  if (may_have_workload(job->meta)) job->pod_template = read_pod_template(pod_template);
  if (is_of_jobset(job->meta)) job->requests = read_requests(object_at(pod_template, {"spec"}));
  job->tolerations_text = list_text(array_at(pod_template, {"spec", "tolerations"}));
  job->scheduling_gates_text = list_text(array_at(pod_template, {"spec", "schedulingGates"}));
  JobStatus& status = job->status;
  status.active = int32_at(object, {"status", "active"});
  status.ready = int32_at(object, {"status", "ready"});
  status.succeeded = int32_at(object, {"status", "succeeded"});
  status.failed = int32_at(object, {"status", "failed"});
  status.terminating = int32_at(object, {"status", "terminating"});
  const size_t uncounted = array_at(object, {"status", "uncountedTerminatedPods", "succeeded"}).size();
  status.uncounted_succeeded = static_cast<int32_t>(uncounted);
  status.completed_indexes = string_at(object, {"status", "completedIndexes"});
  status.failed_indexes = string_at(object, {"status", "failedIndexes"});
  status.start_time = time_at(object, {"status", "startTime"});
  status.completion_time = time_at(object, {"status", "completionTime"});
  status.conditions = read_conditions(array_at(object, {"status", "conditions"}));
  return job;
}

}  // namespace muster
