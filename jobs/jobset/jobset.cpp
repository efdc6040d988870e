#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/rule_settings.h"
#include "api/meta/constants.h"
#include "api/pods/counts.h"
#include "api/workload.h"
#include "jobs/edit.h"
#include "jobs/ended_by_condition.h"
#include "jobs/job_kind.h"
#include "jobs/jobset/startup_gates.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

// The schema has int32 here; a larger value in a request must not overflow.
int64_t within_int32(int64_t value) {
  return std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
}

template <class Json>
std::vector<BasicPodTemplateRef<Json>> templates(Json& job) {
  std::vector<BasicPodTemplateRef<Json>> found;
  Json* list = existing_array(job, {"spec", "replicatedJobs"});
  if (!list) return found;
  const FieldPath root("spec.replicatedJobs");
  for (size_t i = 0; i < list->size(); ++i) {
    Json& replicated = (*list)[i];
    Json* pod_template = existing_object(replicated, {"template", "spec", "template"});
    if (!pod_template) continue;
    const int64_t replicas = within_int32(int_at(replicated, {"replicas"}).value_or(1));
    const int64_t pods = within_int32(pods_of_job_spec(object_at(replicated, {"template", "spec"})));
    found.push_back({std::string(string_at(replicated, {"name"})),
                     root.index(i).child("template").child("spec").child("template"), pod_template, replicas * pods});
  }
  return found;
}

const JobSet& jobset_of(const TypedObject& object) {
  return *std::get<JobSetPtr>(object);
}

int32_t pods_of(const ReplicatedJob& replicated) {
  return saturated_count(int64_t{replicated.replicas} * pods_at_once(replicated.parallelism, replicated.completions));
}

// By the status: whoever writes it has seen the Jobs.
StartupGates gates_of(const JobSet& jobset) {
  return startup_gates(jobset, jobset.status.replicated_jobs, true);
}

bool is_ready(const JobSet& jobset, const ReplicatedJob& replicated) {
  const ReplicatedJobStatus* counts = find_counts(jobset.status.replicated_jobs, replicated.name);
  return counts != nullptr ? int64_t{counts->ready} + counts->succeeded == replicated.replicas
                           : replicated.replicas == 0;
}

// An InOrder start that is over stays over: a later loss is no start.
bool waits_for_others(const JobSet& jobset, size_t index) {
  const bool in_order = jobset.in_order && !condition_is_true(jobset.status.conditions, kStartupPolicyCompleted);
  return (in_order && index > 0) || !jobset.replicated_jobs[index].depends_on.empty();
}

// As a whole: Jobs that have succeeded run again then, and need their quota.
bool may_restart(const JobSet& jobset) {
  if (!jobset.failure) return false;
  const auto& rules = jobset.failure->rules;
  const bool always = std::any_of(rules.begin(), rules.end(), [](const FailureRule& rule) {
    return rule.action == FailureAction::kRestartJobSetAndIgnoreMaxRestarts;
  });
  return always || jobset.status.restarts_towards_max() < jobset.failure->max_restarts;
}

// A replicated job as it is stored, with a changed pod template. Lists are replaced by a
// merge patch, so all of it is written.
json whole(const ReplicatedJob& replicated, const json& pod_template_patch) {
  json object = json::parse(replicated.rest_text);
  if (!object.is_object()) return object;
  object["template"] = json::parse(replicated.template_text.text());
  // A value of another shape is not changed: the API server refuses it with the reason.
  json* pod_template = pod_template_patch.is_null() ? nullptr : make_object(object, {"template", "spec", "template"});
  if (pod_template != nullptr) pod_template->merge_patch(pod_template_patch);
  return object;
}

class JobSetKind final : public JobKind {
 public:
  JobSetKind() : JobKind(kJobSets, "jobset.x-k8s.io/jobset", "jobset.sigs.k8s.io/jobset-controller", true) {}

  bool suspended(const json& job) const override { return bool_at(job, {"spec", "suspend"}); }
  void set_suspend(json& job, bool suspend) const override { set_suspend_field(job, suspend); }
  bool takes_elastic_jobs() const override { return true; }
  bool checks_topology_groups() const override { return true; }
  std::vector<PodTemplateRef> pod_templates(json& job) const override { return templates(job); }
  std::vector<ConstPodTemplateRef> read_pod_templates(const json& job) const override { return templates(job); }

  bool suspended(const TypedObject& job) const override { return jobset_of(job).suspended; }
  std::string_view managed_by(const TypedObject& job) const override { return jobset_of(job).managed_by; }
  bool readable(const TypedObject& job) const override {
    const auto& replicated_jobs = jobset_of(job).replicated_jobs;
    return std::all_of(replicated_jobs.begin(), replicated_jobs.end(),
                       [](const ReplicatedJob& replicated) { return replicated.pod_template.spec != nullptr; });
  }
  bool active(const TypedObject& job) const override {
    const auto& statuses = jobset_of(job).status.replicated_jobs;
    return std::any_of(statuses.begin(), statuses.end(),
                       [](const ReplicatedJobStatus& status) { return status.active > 0; });
  }
  using JobKind::pod_selector;
  std::string pod_selector(std::string_view, std::string_view uid) const override {
    return std::string(kJobSetUidLabel).append("=").append(uid);
  }
  // A JobSet counts Jobs, not pods. A part that cannot start yet is not late.
  bool pods_ready(const TypedObject& object) const override {
    const JobSet& jobset = jobset_of(object);
    const StartupGates gates = gates_of(jobset);
    size_t ready = 0, open = 0;
    for (size_t i = 0; i < gates.open.size(); ++i) {
      if (!gates.open[i]) continue;
      ++open;
      if (is_ready(jobset, jobset.replicated_jobs[i])) ++ready;
    }
    return ready == open && (open > 0 || gates.open.empty());
  }
  Stages stages(const TypedObject& object) const override {
    const JobSet& jobset = jobset_of(object);
    const StartupGates gates = gates_of(jobset);
    Stages stages{.next_starts = true};
    for (size_t i = 0; i < gates.open.size(); ++i) {
      if (!gates.open[i]) stages.more_wait = true;
      if (gates.open[i] && !is_ready(jobset, jobset.replicated_jobs[i]) && !waits_for_others(jobset, i))
        stages.next_starts = false;
    }
    return stages;
  }
  std::optional<JobEnd> end(const TypedObject& job) const override {
    const Conditions& conditions = jobset_of(job).status.conditions;
    if (auto completed = ended_by_condition(conditions, "Completed", "Completed")) return completed;
    return ended_by_condition(conditions, "", "Failed");
  }
  std::vector<ReclaimablePod> reclaimable_pods(const TypedObject& object) const override {
    const JobSet& jobset = jobset_of(object);
    std::vector<ReclaimablePod> pods;
    if (may_restart(jobset)) return pods;
    for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
      const ReplicatedJobStatus* status = find_counts(jobset.status.replicated_jobs, replicated.name);
      if (status == nullptr || status->succeeded <= 0 || status->succeeded > replicated.replicas) continue;
      const int32_t per_job = pods_at_once(replicated.parallelism, replicated.completions);
      pods.push_back({.name = replicated.name, .count = saturated_count(int64_t{status->succeeded} * per_job)});
    }
    return pods;
  }
  std::vector<PodSet> pod_set_shapes(const TypedObject& job, const RuleSettings&) const override {
    std::vector<PodSet> pod_sets;
    for (const ReplicatedJob& replicated : jobset_of(job).replicated_jobs) {
      pod_sets.push_back({.name = replicated.name,
                          .count = pods_of(replicated),
                          .min_count = std::nullopt,
                          .pod_template = replicated.pod_template,
                          .topology_request_text = {},
                          .asks_for_topology = false});
    }
    return pod_sets;
  }
  json topology_labels(const TypedObject& job, size_t pod_set) const override {
    return {{"podIndexLabel", kCompletionIndexAnnotation},
            {"subGroupIndexLabel", kJobIndexKey},
            {"subGroupCount", jobset_of(job).replicated_jobs.at(pod_set).replicas}};
  }

  json edit(const TypedObject& job, const std::vector<json>& patches, const std::vector<PodSetInfo>*) const override {
    if (std::all_of(patches.begin(), patches.end(), [](const json& patch) { return patch.is_null(); })) return nullptr;
    const auto& replicated_jobs = jobset_of(job).replicated_jobs;
    json list = json::array();
    for (size_t i = 0; i < replicated_jobs.size(); ++i) {
      list.push_back(whole(replicated_jobs[i], i < patches.size() ? patches[i] : json()));
    }
    return {{"spec", {{"replicatedJobs", std::move(list)}}}};
  }
  json suspend_patch(bool suspend) const override { return {{"spec", {{"suspend", suspend}}}}; }
};

const JobSetKind kJobSetKind;

}  // namespace

const JobKind& jobset = kJobSetKind;

}  // namespace muster::jobs
