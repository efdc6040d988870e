// AppWrapper: a start writes the values for the pods beside each component. Its controller merges them into the
// objects that it creates. The components themselves do not change.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "jobs/described/edit_hook.h"
#include "kinds/kind_description.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

json info_json(const PodSetInfo& info) {
  json given = json::object();
  if (!info.annotations.empty()) given["annotations"] = info.annotations;
  if (!info.labels.empty()) given["labels"] = info.labels;
  if (!info.node_selector.empty()) given["nodeSelector"] = info.node_selector;
  if (!info.tolerations.empty()) given["tolerations"] = to_json(info.tolerations);
  for (const std::string& gate : info.scheduling_gates) given["schedulingGates"].push_back({{"name", gate}});
  return given;
}

Result<json> start(const DescribedJob& job, const std::vector<PodSetInfo>& infos) {
  if (infos.size() != job.pod_sets.size())
    return fail("invalid podset infos: expecting " + std::to_string(job.pod_sets.size()) + " podsets, got " +
                std::to_string(infos.size()));
  json components = json::parse(job.kept, nullptr, false);
  for (json& component : components) {
    if (component.is_object()) component.erase("podSetInfos");
  }
  for (size_t i = 0; i < infos.size(); ++i)
    components[job.pod_sets[i].element]["podSetInfos"].push_back(info_json(infos[i]));
  json patch = job.kind->suspend.patch(false);
  patch["spec"]["components"] = std::move(components);
  return patch;
}

json restore(const DescribedJob& job, const std::vector<PodSetInfo>&) {
  json components = json::parse(job.kept, nullptr, false);
  bool changed = false;
  for (json& component : components) {
    if (component.is_object()) changed |= component.erase("podSetInfos") > 0;
  }
  return changed ? json{{"spec", {{"components", std::move(components)}}}} : json();
}

}  // namespace

const EditHook appwrapper_edits = {
    .name = "appwrapper", .start = start, .restore = restore, .shows_in_templates = false};

}  // namespace muster::jobs
