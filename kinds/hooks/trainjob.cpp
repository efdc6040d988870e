// TrainJob: its pods are those of the JobSet that the trainer makes from a TrainingRuntime or ClusterTrainingRuntime.
// Source: Kubeflow Trainer v2, as facts.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/meta/object_meta.h"
#include "api/pods/counts.h"
#include "kinds/kind_description.h"
#include "kinds/kind_hook.h"

namespace muster::hooks::trainjob {
namespace {

using nlohmann::json;

constexpr std::string_view kAncestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step";
constexpr std::string_view kTrainerStep = "trainer";
constexpr std::string_view kTrainerContainer = "node";

void read(const json& object, DescribedJob& job) {
  const json& spec = object_at(object, {"spec"});
  json kept = json::object();
  for (const char* field : {"runtimeRef", "trainer", "runtimePatches"}) {
    if (const json* value = find_path(spec, {field})) kept[field] = *value;
  }
  for (const json& status : array_at(object, {"status", "jobsStatus"}))
    kept["jobsStatus"].push_back({{"name", string_at(status, {"name"})},
                                  {"ready", int32_at(status, {"ready"})},
                                  {"succeeded", int32_at(status, {"succeeded"})},
                                  {"failed", int32_at(status, {"failed"})}});
  job.kept = to_text(kept);
  job.pods_ready = false;
  job.awaited = "its runtime is not known yet";
}

// The object below these keys, which is created if it is missing; nullptr: another value is there.
json* inside(json& value, std::initializer_list<const char*> keys) {
  json* place = &value;
  for (const char* key : keys) {
    if (place->is_null()) *place = json::object();
    if (!place->is_object()) return nullptr;
    place = &(*place)[key];
  }
  return place;
}

// --- Patches ---

bool is_list_of_named(const json& list) {
  return list.is_array() && !list.empty() &&
         std::all_of(list.begin(), list.end(), [](const json& item) { return !string_at(item, {"name"}).empty(); });
}

json* find_named(json& list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const json& item) { return string_at(item, {"name"}) == name; });
  return found == list.end() ? nullptr : &*found;
}

// Merges like Kubernetes: maps by key, lists of named items by name, all other values as a whole. The API
// server limits the depth of a request, so the recursion is limited.
void merge_into(json& target, const json& patch, int depth = 0) {
  constexpr int kMostDepth = 30;
  if (depth > kMostDepth || patch.is_null()) return;
  if (target.is_object() && patch.is_object()) {
    for (const auto& [key, value] : patch.items()) merge_into(target[key], value, depth + 1);
  } else if (is_list_of_named(target) && is_list_of_named(patch)) {
    for (const json& item : patch) {
      json* same = find_named(target, string_at(item, {"name"}));
      if (same != nullptr)
        merge_into(*same, item, depth + 1);
      else
        target.push_back(item);
    }
  } else {
    target = patch;
  }
}

void apply_patch(const json& patch, json& replicated) {
  for (const json& patched : array_at(patch, {"trainingRuntimeSpec", "template", "spec", "replicatedJobs"})) {
    json* same = find_named(replicated, string_at(patched, {"name"}));
    json* pod_template = same == nullptr ? nullptr : inside(*same, {"template", "spec", "template"});
    if (pod_template != nullptr) merge_into(*pod_template, object_at(patched, {"template", "spec", "template"}));
  }
}

// Those of each job. The trainer replaces the list by that of a patch.
json tolerations_in(const json& replicated) {
  json found = json::object();
  for (const json& each : replicated) {
    const json& tolerations = array_at(each, {"template", "spec", "template", "spec", "tolerations"});
    if (!tolerations.empty()) found[std::string(string_at(each, {"name"}))] = tolerations;
  }
  return found;
}

// The result: the tolerations that a start must repeat in its own patch.
json apply_patches(const json& kept, json& replicated) {
  json tolerations;
  for (const json& patch : array_at(kept, {"runtimePatches"})) {
    if (string_at(patch, {"manager"}) == kRuntimePatchManager) tolerations = tolerations_in(replicated);
    apply_patch(patch, replicated);
  }
  return tolerations.is_null() ? tolerations_in(replicated) : tolerations;
}

// --- The trainer's own job ---

bool is_trainer(const json& replicated) {
  return string_at(replicated, {"template", "metadata", "labels", kAncestorLabel}) == kTrainerStep;
}

void apply_trainer(const json& trainer, json& replicated) {
  json* containers = inside(replicated, {"template", "spec", "template", "spec", "containers"});
  json* node = containers != nullptr && containers->is_array() ? find_named(*containers, kTrainerContainer) : nullptr;
  if (node == nullptr) return;
  for (const char* field : {"image", "command", "args"}) {
    if (const json* value = find_path(trainer, {field}); value != nullptr && !value->is_null()) (*node)[field] = *value;
  }
  if (const json& env = array_at(trainer, {"env"}); !env.empty()) merge_into((*node)["env"], env);
  if (const json& asked = object_at(trainer, {"resourcesPerNode"}); !asked.empty()) (*node)["resources"] = asked;
}

// The trainer makes at least one pod of a job beside its own.
int32_t pods_of(const json& replicated, const json& runtime, const json& trainer) {
  const auto parallelism = int_at(replicated, {"template", "spec", "parallelism"});
  if (!is_trainer(replicated)) return std::max(1, saturated_count(parallelism.value_or(1)));
  const auto own = int_at(trainer, {"numNodes"});
  const auto of_runtime = int_at(runtime, {"spec", "mlPolicy", "numNodes"});
  return saturated_count(own ? *own : of_runtime ? *of_runtime : parallelism.value_or(1));
}

// --- The resulting pod sets ---

int32_t status_of(const json& kept, std::string_view name, const char* field) {
  for (const json& status : array_at(kept, {"jobsStatus"})) {
    if (string_at(status, {"name"}) == name) return int32_at(status, {field});
  }
  return 0;
}

// Its JobSet starts pods that have ended again when it restarts, and how often it did is not known here.
bool may_restart(const json& runtime) {
  const json& failure = object_at(runtime, {"spec", "template", "spec", "failurePolicy"});
  return int_at(failure, {"maxRestarts"}).value_or(0) > 0 || !array_at(failure, {"rules"}).empty();
}

void add_pod_set(const json& replicated, const json& runtime, const json& kept, DescribedJob& job) {
  const int32_t replicas = saturated_count(int_at(replicated, {"replicas"}).value_or(1));
  const int64_t pods = pods_of(replicated, runtime, object_at(kept, {"trainer"}));
  const std::string name(string_at(replicated, {"name"}));
  const json topology = {{"podIndexLabel", "batch.kubernetes.io/job-completion-index"},
                         {"subGroupIndexLabel", "jobset.sigs.k8s.io/job-index"},
                         {"subGroupCount", replicas}};
  const int64_t done = may_restart(runtime) ? 0 : status_of(kept, name, "succeeded");
  job.pod_sets.push_back({.name = name,
                          .count = saturated_count(pods * replicas),
                          .pod_template = read_pod_template(object_at(replicated, {"template", "spec", "template"})),
                          .topology_labels = to_text(topology),
                          .reclaimable = done > 0 && done <= replicas ? saturated_count(done * pods) : 0,
                          .place = "job[" + name + "]"});
}

// Initializers end before the others start: what waits for them is not late.
JobSetPtr parts_of(const json& runtime, const json& replicated, const json& kept, bool suspended) {
  json jobset = {{"spec", {{"suspend", suspended}}},
                 {"status", {{"replicatedJobsStatus", array_at(kept, {"jobsStatus"})}}}};
  if (const json* order = find_path(runtime, {"spec", "template", "spec", "startupPolicy"}))
    jobset["spec"]["startupPolicy"] = *order;
  json& parts = jobset["spec"]["replicatedJobs"] = json::array();
  for (const json& each : replicated) {
    json part = json::object();
    for (const char* field : {"name", "replicas", "dependsOn"})
      if (const json* value = find_path(each, {field})) part[field] = *value;
    parts.push_back(std::move(part));
  }
  return read_jobset(jobset);
}

void build(const json& runtime, json kept, DescribedJob& job) {
  json replicated = array_at(runtime, {"spec", "template", "spec", "replicatedJobs"});
  kept["tolerations"] = apply_patches(kept, replicated);
  job.kept = to_text(kept);
  for (json& each : replicated) {
    if (!each.is_object()) continue;
    if (is_trainer(each)) apply_trainer(object_at(kept, {"trainer"}), each);
    add_pod_set(each, runtime, kept, job);
    if (job.pod_sets.size() > KindDescription::kMostPodSets) break;
  }
  job.parts = parts_of(runtime, replicated, kept, job.suspended);
}

void consult(const ConsultedLookup& find, DescribedJob& job) {
  const json kept = json::parse(job.kept, nullptr, false);
  const std::string_view group = string_at(kept, {"runtimeRef", "apiGroup"});
  const std::string_view kind = string_at(kept, {"runtimeRef", "kind"});
  const std::string name(string_at(kept, {"runtimeRef", "name"}));
  const auto& known = job.kind->consulted;
  const auto runtime_kind = std::find_if(known.begin(), known.end(), [&](const ConsultedKind& candidate) {
    return candidate.group == group && candidate.kind == kind;
  });
  job.awaited.clear();
  if (runtime_kind == known.end()) {
    job.unreadable = "unsupported runtime: " + std::string(kind) + (group.empty() ? "" : "." + std::string(group));
    return;
  }
  const json* runtime = find(*runtime_kind, name);
  if (runtime == nullptr)
    job.awaited = "runtime '" + name + "' not found";
  else
    build(*runtime, kept, job);
}

// --- What a start and a stop edit ---

// A start writes the values for the pods into a patch of the runtime with Kueue's name. The trainer
// accepts the patch only while the TrainJob is suspended, so the second step of the start resumes it. The patch
// is removed when no pod runs any more. It merges maps, and replaces tolerations: the patch has those of the runtime
// too.

json* find_own(json& patches) {
  const auto found = std::find_if(patches.begin(), patches.end(), [](const json& patch) {
    return string_at(patch, {"manager"}) == kRuntimePatchManager;
  });
  return found == patches.end() ? nullptr : &*found;
}

json kept_of(const DescribedJob& job) {
  return json::parse(job.kept, nullptr, false);
}

// Those that the pods have without the patch come first.
std::vector<Toleration> tolerations_of(const json& kept, const PodSetInfo& info) {
  if (info.tolerations.empty()) return {};
  std::vector<Toleration> all = read_tolerations(array_at(kept, {"tolerations", info.name}));
  for (const Toleration& toleration : info.tolerations) {
    if (std::find(all.begin(), all.end(), toleration) == all.end()) all.push_back(toleration);
  }
  return all;
}

json pod_template_of(const json& kept, const PodSetInfo& info) {
  json metadata = json::object(), spec = json::object();
  put_map(metadata, "labels", info.labels);
  put_map(metadata, "annotations", info.annotations);
  put_map(spec, "nodeSelector", info.node_selector);
  if (const auto tolerations = tolerations_of(kept, info); !tolerations.empty())
    spec["tolerations"] = to_json(tolerations);
  for (const std::string& gate : info.scheduling_gates) spec["schedulingGates"].push_back({{"name", gate}});
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

Result<json> start(const DescribedJob& job, const std::vector<PodSetInfo>& infos) {
  if (infos.size() != job.pod_sets.size())
    return fail("invalid podset infos: expecting " + std::to_string(job.pod_sets.size()) + " podset, got " +
                std::to_string(infos.size()));
  const json kept = kept_of(job);
  json patches = array_at(kept, {"runtimePatches"});
  json* own = find_own(patches);
  if (own == nullptr) {
    // Created while the webhook was down.
    patches.push_back({{"manager", kRuntimePatchManager}});
    own = &patches.back();
  }
  json replicated = json::array();
  for (const PodSetInfo& info : infos)
    replicated.push_back({{"name", info.name}, {"template", {{"spec", {{"template", pod_template_of(kept, info)}}}}}});
  json wanted = *own;
  json runtime = object_at(*own, {"trainingRuntimeSpec"}), jobset = object_at(runtime, {"template"}),
       spec = object_at(jobset, {"spec"});
  spec["replicatedJobs"] = std::move(replicated);
  jobset["spec"] = std::move(spec);
  runtime["template"] = std::move(jobset);
  wanted["trainingRuntimeSpec"] = std::move(runtime);
  if (wanted == *own) return job.kind->suspend.patch(false);
  *own = std::move(wanted);
  return json{{"spec", {{"runtimePatches", std::move(patches)}}}};
}

json restore(const DescribedJob& job, const std::vector<PodSetInfo>&) {
  json patches = array_at(kept_of(job), {"runtimePatches"});
  json* own = find_own(patches);
  if (own == nullptr || array_at(*own, {"trainingRuntimeSpec", "template", "spec", "replicatedJobs"}).empty())
    return nullptr;
  (*own)["trainingRuntimeSpec"]["template"]["spec"].erase("replicatedJobs");
  return {{"spec", {{"runtimePatches", std::move(patches)}}}};
}

}  // namespace

extern const KindHook hook;
const KindHook hook = {.name = "trainjob",
                       .makes_pod_sets = true,
                       .where_templates_come_from =
                           ". Adjust either the \"TrainJob.spec.runtimePatches\" or the "
                           "\"TrainingRuntime.Template\" annotations for the corresponding Job",
                       .read = read,
                       .consult = consult,
                       .start = start,
                       .restore = restore,
                       .restores_once_inactive = true};

}  // namespace muster::hooks::trainjob
