#include "reconcilers/job_workload_scene.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/workload_conditions.h"

namespace muster {
namespace {

using nlohmann::json;

void pin_version(json& patch, const ObjectMeta& meta) {
  patch["metadata"]["resourceVersion"] = std::to_string(meta.resource_version);
}

ObjectKey key_of_workload(const Workload& workload) {
  return {&kWorkloads, workload.meta.ns, workload.meta.name};
}

}  // namespace

ObjectEvent JobScene::event(std::string_view type, std::string_view reason, std::string note) const {
  return {.regarding = reference_to(job.type(), job.meta()),
          .type = std::string(type),
          .reason = std::string(reason),
          .note = std::move(note)};
}

std::string path_of(const Workload& workload) {
  return workload.meta.ns + "/" + workload.meta.name;
}

Write patch_job(const JobScene& scene, Verb verb, json patch) {
  pin_version(patch, scene.job.meta());
  return {.verb = verb, .target = scene.key(), .body = std::move(patch)};
}

Write patch_workload(const Workload& workload, Verb verb, json patch) {
  pin_version(patch, workload.meta);
  return {.verb = verb, .target = key_of_workload(workload), .body = std::move(patch)};
}

Write write_status(const Workload& workload, const WorkloadStatus& status) {
  return patch_workload(workload, Verb::kPatchStatus, {{"status", status_patch(workload.status, status)}});
}

void release_finalizer(const Workload& workload, Plan& plan, std::vector<ObjectEvent> events) {
  std::vector<std::string> finalizers = workload.meta.finalizers;
  if (std::erase(finalizers, kResourceInUseFinalizer) == 0) return;
  Write write = patch_workload(workload, Verb::kPatch,
                               {{"metadata", {{"finalizers", finalizers.empty() ? json() : json(finalizers)}}}});
  write.events = std::move(events);
  plan.writes.push_back(std::move(write));
}

}  // namespace muster
