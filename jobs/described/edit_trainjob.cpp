// TrainJob: a start writes the values for the pods into a patch of the runtime with Kueue's name. The trainer
// accepts the patch only while the TrainJob is suspended, so the second step of the start resumes it. The patch
// is removed when no pod runs any more. It merges maps, and replaces tolerations: the patch has those of the runtime
// too.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "jobs/described/edit_hook.h"
#include "kinds/kind_description.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

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
  if (!info.labels.empty()) metadata["labels"] = info.labels;
  if (!info.annotations.empty()) metadata["annotations"] = info.annotations;
  if (!info.node_selector.empty()) spec["nodeSelector"] = info.node_selector;
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

const EditHook trainjob_edits = {
    .name = "trainjob", .start = start, .restore = restore, .restores_once_inactive = true};

}  // namespace muster::jobs
