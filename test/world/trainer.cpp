#include "test/world/trainer.h"

#include <algorithm>
#include <string>

#include "api/codec/json.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "test/world/object_rules.h"
#include "test/world/operated_kinds.h"

namespace muster::world {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kGroup = "trainer.kubeflow.org";
// Which of the runtime's jobs has the nodes that the TrainJob asks for.
constexpr std::string_view kAncestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step";
const Request kAsTrainer{.user = "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager"};

const ResourceType& train_jobs() {
  return jobs::find_job_kind(kGroup, "TrainJob")->type;
}

void patch_templates(const json& patches, json& replicated) {
  for (const json& patch : patches) {
    for (const json& patched : array_at(patch, {"trainingRuntimeSpec", "template", "spec", "replicatedJobs"})) {
      for (json& each : replicated) {
        if (each["name"] == patched["name"])
          each["template"]["spec"]["template"].merge_patch(object_at(patched, {"template", "spec", "template"}));
      }
    }
  }
}

json replicated_jobs(const json& job, const json& runtime) {
  json replicated = array_at(runtime, {"spec", "template", "spec", "replicatedJobs"});
  if (const auto nodes = int_at(job, {"spec", "trainer", "numNodes"})) {
    for (json& each : replicated) {
      if (string_at(each, {"template", "metadata", "labels", kAncestorLabel}) != "trainer") continue;
      each["template"]["spec"]["parallelism"] = *nodes;
      each["template"]["spec"]["completions"] = *nodes;
    }
  }
  patch_templates(array_at(job, {"spec", "runtimePatches"}), replicated);
  return replicated;
}

json status_of(const json& jobset, bool suspended) {
  json jobs = json::array();
  for (const json& each : array_at(jobset, {"status", "replicatedJobsStatus"})) {
    json copy = {{"name", string_at(each, {"name"})}};
    for (const char* field : {"ready", "active", "succeeded", "failed", "suspended"})
      copy[field] = int32_at(each, {field});
    jobs.push_back(std::move(copy));
  }
  json conditions = {operator_condition("Suspended", suspended)};
  if (has_condition(jobset, "Completed")) conditions.push_back(operator_condition("Complete", true));
  if (has_condition(jobset, "Failed")) conditions.push_back(operator_condition("Failed", true));
  return {{"jobsStatus", std::move(jobs)}, {"conditions", std::move(conditions)}};
}

}  // namespace

Trainer::Trainer(ApiServer& server, Timeline& timeline, uint64_t seed)
    : server_(server), timeline_(timeline), chance_(seed, "trainer") {
  server_.on_change([this](const Change& change) { see(change); });
}

void Trainer::see(const Change& change) {
  if (*change.type == train_jobs()) {
    if (!change.removed) look_soon(key_of(*change.type, *change.after));
    return;
  }
  if (*change.type != kJobSets) return;
  const std::optional<OwnerReference> owner = controller_of(*change.after);
  const jobs::JobKind* kind = owner ? jobs::find_job_kind(*owner) : nullptr;
  if (kind != nullptr && &kind->type == &train_jobs())
    look_soon({&train_jobs(), std::string(string_at(*change.after, {"metadata", "namespace"})), owner->name});
}

void Trainer::look_soon(const ObjectKey& key, Duration at_least) {
  if (!queued_.insert(key).second) return;
  timeline_.after(at_least + chance_.between(milliseconds(5), milliseconds(150)), [this, key] {
    queued_.erase(key);
    look_at(key);
  });
}

void Trainer::create_jobset(const ObjectKey& key, const json& job) {
  const ResourceType* runtimes = find_consulted_kind(kGroup, "ClusterTrainingRuntime");
  const ObjectPtr runtime = server_.get({runtimes, "", std::string(string_at(job, {"spec", "runtimeRef", "name"}))});
  // No webhook answers while no replica of muster serves: tried again, as by every controller.
  if (runtime == nullptr) return look_soon(key, seconds(2));
  const Answer answer = server_.create(
      {{"apiVersion", kJobSets.api_version},
       {"kind", kJobSets.kind},
       {"metadata",
        {{"name", key.name},
         {"namespace", key.ns},
         {"ownerReferences", json::array({controller_reference(train_jobs(), read_meta(job), true)})}}},
       {"spec", {{"suspend", bool_at(job, {"spec", "suspend"})}, {"replicatedJobs", replicated_jobs(job, *runtime)}}}},
      kAsTrainer);
  if (!answer.done()) look_soon(key, seconds(2));
}

void Trainer::look_at(const ObjectKey& key) {
  const ObjectPtr job = server_.get(key);
  if (job == nullptr || is_deleting(*job) || has_condition(*job, "Complete") || has_condition(*job, "Failed")) return;
  const ObjectKey jobset_key{&kJobSets, key.ns, key.name};
  const ObjectPtr jobset = server_.get(jobset_key);
  if (jobset == nullptr) return create_jobset(key, *job);
  const auto owner = controller_of(*jobset);
  if (is_deleting(*jobset) || !owner || owner->uid != uid_of(*job)) return look_soon(key, seconds(1));

  const bool suspended = bool_at(*job, {"spec", "suspend"});
  json spec = json::object();
  if (bool_at(*jobset, {"spec", "suspend"}) != suspended) {
    spec["suspend"] = suspended;
    if (!suspended) {
      spec["replicatedJobs"] = array_at(*jobset, {"spec", "replicatedJobs"});
      patch_templates(array_at(*job, {"spec", "runtimePatches"}), spec["replicatedJobs"]);
    }
  }
  if (!spec.empty() && !server_.patch(jobset_key, {{"spec", std::move(spec)}}, kAsTrainer).done())
    look_soon(key, seconds(2));
  server_.patch_status(key, {{"metadata", {{"uid", uid_of(*job)}}}, {"status", status_of(*jobset, suspended)}},
                       kAsTrainer);
}

}  // namespace muster::world
