// How a job is started with what its pods were given, and how that is taken back.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"
#include "jobs/queued_job.h"

namespace muster {
namespace {

using nlohmann::json;

// Kubernetes put them into the template, so no Workload knows them.
constexpr std::array kLabelsToKeep = {kJobNameLabel, kLegacyJobNameLabel, kLegacyControllerUidLabel,
                                      kControllerUidLabel};

Failure<Error> wrong_number(size_t wanted, size_t got) {
  return fail("invalid podset infos: expecting " + std::to_string(wanted) + " podset, got " + std::to_string(got));
}

// A replicated job as it is stored, with a changed pod template. Lists are replaced by a
// merge patch, so all of it is written.
json whole(const ReplicatedJob& replicated, const json& pod_template_patch) {
  json object = json::parse(replicated.rest_text);
  if (!object.is_object()) return object;
  object["template"] = json::parse(replicated.template_text.text());
  // What has another shape stays as it is: the API server refuses it, and says why.
  json* pod_template = pod_template_patch.is_null() ? nullptr : make_object(object, {"template", "spec", "template"});
  if (pod_template != nullptr) pod_template->merge_patch(pod_template_patch);
  return object;
}

// spec.replicatedJobs with these patches of the pod templates; null when there is none.
json replicated_jobs_patch(const JobSet& jobset, const std::vector<json>& patches) {
  if (std::all_of(patches.begin(), patches.end(), [](const json& patch) { return patch.is_null(); })) return nullptr;
  json list = json::array();
  for (size_t i = 0; i < jobset.replicated_jobs.size(); ++i) {
    list.push_back(whole(jobset.replicated_jobs[i], i < patches.size() ? patches[i] : json()));
  }
  return list;
}

// What a template gets back, but for what belongs to its present run.
PodSetInfo restored(const PodSetInfo& before, PodSetInfo after) {
  // Which run of its gang the pods are of: the webhook sets it, at every start.
  after.annotations.erase(std::string(kGroupEpochAnnotation));
  if (const auto epoch = before.annotations.find(kGroupEpochAnnotation); epoch != before.annotations.end())
    after.annotations.insert(*epoch);
  return after;
}

void set_parallelism(json& spec, int32_t count, bool completions_too) {
  spec["parallelism"] = count;
  if (completions_too) spec["completions"] = count;
}

}  // namespace

Result<json> QueuedJob::start_patch(const std::vector<PodSetInfo>& infos) const {
  const size_t wanted = job_ != nullptr ? 1 : jobset_->replicated_jobs.size();
  if (infos.size() != wanted) return wrong_number(wanted, infos.size());
  json spec = {{"suspend", false}};
  std::vector<json> patches;
  for (size_t i = 0; i < infos.size(); ++i) {
    const PodTemplate& pod_template = job_ != nullptr ? job_->pod_template : jobset_->replicated_jobs[i].pod_template;
    const PodSetInfo before = info_of_template(pod_template.to_json());
    PodSetInfo after = before;
    if (auto merged = merge(after, infos[i]); !merged) return fail(merged.error().message);
    // Kueue put it there, for a controller of slices that is not here: nobody else would remove it.
    std::erase(after.scheduling_gates, kElasticJobGate);
    patches.push_back(template_patch(before, after));
  }
  if (jobset_ != nullptr) {
    if (json list = replicated_jobs_patch(*jobset_, patches); !list.is_null()) spec["replicatedJobs"] = std::move(list);
  } else {
    if (!patches[0].is_null()) spec["template"] = std::move(patches[0]);
    if (min_count()) set_parallelism(spec, infos[0].count, completions_follow_parallelism());
  }
  return json{{"spec", std::move(spec)}};
}

json QueuedJob::restore_patch(const std::vector<PodSetInfo>& infos) const {
  if (infos.empty()) return nullptr;
  if (jobset_ != nullptr) return restore_patch_of_jobset(infos);
  json spec;
  if (min_count() && job_->parallelism != infos[0].count)
    set_parallelism(spec, infos[0].count, completions_follow_parallelism());
  const PodSetInfo before = info_of_template(job_->pod_template.to_json());
  PodSetInfo after = restored(before, infos[0]);
  for (std::string_view label : kLabelsToKeep) {
    if (const auto found = before.labels.find(label); found != before.labels.end())
      after.labels[found->first] = found->second;
  }
  if (json patch = template_patch(before, after); !patch.is_null()) spec["template"] = std::move(patch);
  return spec.is_null() ? spec : json{{"spec", std::move(spec)}};
}

json QueuedJob::restore_patch_of_jobset(const std::vector<PodSetInfo>& infos) const {
  std::vector<json> patches;
  const auto& replicated_jobs = jobset_->replicated_jobs;
  for (size_t i = 0; i < replicated_jobs.size() && i < infos.size(); ++i) {
    const PodSetInfo before = info_of_template(replicated_jobs[i].pod_template.to_json());
    patches.push_back(template_patch(before, restored(before, infos[i])));
  }
  json list = replicated_jobs_patch(*jobset_, patches);
  return list.is_null() ? list : json{{"spec", {{"replicatedJobs", std::move(list)}}}};
}

}  // namespace muster
