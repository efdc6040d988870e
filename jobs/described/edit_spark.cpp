// SparkApplication: labels, annotations, node selectors and tolerations are fields of `driver` and `executor`.
// Gates are in their pod templates; a start creates a missing template. The application's node selector becomes that of
// both roles, because the operator accepts only one of the two.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/object_meta.h"
#include "jobs/described/edit_hook.h"
#include "kinds/kind_description.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

constexpr const char* kRoles[] = {"driver", "executor"};

PodSetInfo written(const json& role) {
  return info_of_template({{"metadata", {{"labels", role["labels"]}, {"annotations", role["annotations"]}}},
                           {"spec",
                            {{"nodeSelector", role["nodeSelector"]},
                             {"tolerations", role["tolerations"]},
                             {"schedulingGates", role["schedulingGates"]}}}});
}

// An empty template: the operator needs a container with this name in it.
json bare_template(const char* role) {
  const std::string name = std::string("spark-kubernetes-") + role;
  return {{"spec", {{"containers", json::array({{{"name", name}, {"resources", json::object()}}})}}}};
}

// Converts a patch of a pod template to a patch of the role; null if nothing changes.
json role_patch(const json& of_template) {
  json patch;
  for (const char* map : {"labels", "annotations"}) {
    if (const json* value = find_path(of_template, {"metadata", map})) patch[map] = *value;
  }
  for (const char* field : {"nodeSelector", "tolerations"}) {
    if (const json* value = find_path(of_template, {"spec", field})) patch[field] = *value;
  }
  if (const json* gates = find_path(of_template, {"spec", "schedulingGates"}))
    patch["template"]["spec"]["schedulingGates"] = *gates;
  return patch;
}

void add_template(const json& role, const char* name, json& patch) {
  if (role["hasTemplate"].get<bool>()) return;
  json made = bare_template(name);
  if (patch.is_object() && patch.contains("template")) made.merge_patch(patch["template"]);
  patch["template"] = std::move(made);
}

Result<json> start(const DescribedJob& job, const std::vector<PodSetInfo>& infos) {
  if (infos.size() != std::size(kRoles))
    return fail("invalid podset infos: expecting " + std::to_string(std::size(kRoles)) + " podset, got " +
                std::to_string(infos.size()));
  const json kept = json::parse(job.kept, nullptr, false);
  json patch = job.kind->suspend.patch(false);
  const Labels global = read_string_map(kept["nodeSelector"]);
  for (size_t i = 0; i < std::size(kRoles); ++i) {
    const json& role = kept[kRoles[i]];
    const PodSetInfo before = written(role);
    PodSetInfo after = before;
    for (const auto& [label, value] : global) after.node_selector.try_emplace(label, value);
    if (auto merged = merge(after, infos[i]); !merged) return fail(merged.error().message);
    std::erase(after.scheduling_gates, kElasticJobGate);
    json edited = role_patch(template_patch(before, after));
    add_template(role, kRoles[i], edited);
    patch["spec"][kRoles[i]] = std::move(edited);
  }
  if (!global.empty()) patch["spec"]["nodeSelector"] = nullptr;
  return patch;
}

// The role's fields as they were before the start: its pods had the placement of their template and of Spark's
// properties too.
PodSetInfo without_placement_beside(const json& role, PodSetInfo info) {
  const json& beside = role["beside"];
  for (const auto& [label, value] : read_string_map(beside["nodeSelector"])) {
    if (const auto found = info.node_selector.find(label); found != info.node_selector.end() && found->second == value)
      info.node_selector.erase(found);
  }
  for (const Toleration& toleration : read_tolerations(beside["tolerations"])) std::erase(info.tolerations, toleration);
  return info;
}

json restore(const DescribedJob& job, const std::vector<PodSetInfo>& infos) {
  if (infos.size() != std::size(kRoles) || job.pod_sets.size() != std::size(kRoles)) return nullptr;
  const json kept = json::parse(job.kept, nullptr, false);
  json patch;
  for (size_t i = 0; i < std::size(kRoles); ++i) {
    const json& role = kept[kRoles[i]];
    json edited = role_patch(template_patch(written(role), without_placement_beside(role, infos[i])));
    if (edited.is_null()) continue;
    if (edited.contains("template")) add_template(role, kRoles[i], edited);
    patch["spec"][kRoles[i]] = std::move(edited);
  }
  if (!kept["nodeSelector"].empty()) patch["spec"]["nodeSelector"] = nullptr;
  // A Workload can have been admitted with fewer executors.
  if (!patch.is_null() && infos[1].count != job.pod_sets[1].count)
    patch["spec"]["executor"]["instances"] = infos[1].count;
  return patch;
}

}  // namespace

const EditHook spark_edits = {.name = "spark", .start = start, .restore = restore};

}  // namespace muster::jobs
