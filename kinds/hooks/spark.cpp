// SparkApplication: the pods of the driver and the executors are made from separate fields, `driver` and `executor`,
// and of their pod templates, of which the metadata and what quota counts is read.
// Source: Spark operator, v1beta2, as facts.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/meta/object_meta.h"
#include "kinds/kind_description.h"
#include "kinds/kind_hook.h"
#include "kinds/spark_resources.h"

namespace muster::hooks::spark {
namespace {

using nlohmann::json;

constexpr const char* kRoles[] = {"driver", "executor"};

std::string container_name(std::string_view role) {
  return "spark-kubernetes-" + std::string(role);
}

// Spark's own container in the pod template: the one with its name, or the first; nullptr: there is none.
const json* main_in_template(const json& containers, std::string_view role) {
  for (const json& container : containers) {
    if (string_at(container, {"name"}) == container_name(role)) return &container;
  }
  return containers.empty() ? nullptr : &containers.front();
}

// Spark sets CPU, memory and devices, and keeps what else its container in the pod template has.
json main_container(const SparkRole& role, std::string_view name, const json& volumes, DescribedJob& job) {
  ResourceRequirements made;
  if (auto resources = role.resources(); resources.ok())
    made = *std::move(resources);
  else
    job.unreadable = "spec." + std::string(name) + ": " + resources.error().message;
  if (const json* given = main_in_template(array_at(role.fields(), {"template", "spec", "containers"}), name)) {
    ResourceList requests = read_resource_list(object_at(*given, {"resources", "requests"}));
    ResourceList limits = read_resource_list(object_at(*given, {"resources", "limits"}));
    limits.erase("memory");
    made.requests.merge(requests);
    made.limits.merge(limits);
  }
  json container = {{"name", container_name(name)}, {"resources", json::object()}};
  if (!made.requests.empty()) container["resources"]["requests"] = to_json(made.requests);
  if (!made.limits.empty()) container["resources"]["limits"] = to_json(made.limits);
  std::set<std::string_view> there;
  for (const json& volume : volumes) there.insert(string_at(volume, {"name"}));
  for (const json& mount : array_at(role.fields(), {"volumeMounts"})) {
    if (there.contains(string_at(mount, {"name"}))) container["volumeMounts"].push_back(mount);
  }
  return container;
}

// The volumes that the role mounts, without Spark's own scratch space.
json volumes_of(const json& spec, const json& role) {
  std::set<std::string_view> mounted;
  for (const json& mount : array_at(role, {"volumeMounts"})) mounted.insert(string_at(mount, {"name"}));
  json volumes = json::array();
  for (const json& volume : array_at(spec, {"volumes"})) {
    const std::string_view name = string_at(volume, {"name"});
    if (mounted.contains(name) && !name.starts_with("spark-local-dir-")) volumes.push_back(volume);
  }
  return volumes;
}

void add_sidecars(const json& role, json& containers) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const json& sidecar : array_at(role, {"sidecars"})) {
    if (seen.emplace(string_at(sidecar, {"name"}), string_at(sidecar, {"image"})).second) containers.push_back(sidecar);
  }
}

json metadata_of(const json& role) {
  json metadata = json::object();
  for (const char* map : {"labels", "annotations"}) {
    json merged = object_at(role, {"template", "metadata", map});
    merged.update(object_at(role, {map}));
    if (!merged.empty()) metadata[map] = std::move(merged);
  }
  return metadata;
}

bool says_something(const json& value) {
  return !value.is_null() && !(value.is_structured() && value.empty());
}

// What the pod template adds to what quota counts.
void add_template(const json& role, std::string_view name, json& pod) {
  const json& given = object_at(role, {"template", "spec"});
  const json& containers = array_at(given, {"containers"});
  const json* main = main_in_template(containers, name);
  for (const json& container : containers) {
    if (&container != main) pod["containers"].push_back(container);
  }
  for (const json& container : array_at(given, {"initContainers"})) pod["initContainers"].push_back(container);
  for (const char* field :
       {"resources", "resourceClaims", "overhead", "runtimeClassName", "affinity", "priorityClassName"}) {
    const json* value = find_path(given, {field});
    if (value != nullptr && says_something(*value) && !pod.contains(field)) pod[field] = *value;
  }
}

void add_selectors(const json& spec, const std::string& prefix, json& selector) {
  for (const auto& [key, value] : object_at(spec, {"sparkConf"}).items()) {
    if (value.is_string() && key.starts_with(prefix) && key.size() > prefix.size())
      selector[key.substr(prefix.size())] = value;
  }
}

// What decides about nodes beside the role's fields and the application's node selector: the pod template and Spark's
// properties.
json placement_beside(const json& spec, const std::string& name) {
  const json& given = object_at(spec, {name, "template", "spec"});
  json selector = object_at(given, {"nodeSelector"});
  add_selectors(spec, "spark.kubernetes.node.selector.", selector);
  add_selectors(spec, "spark.kubernetes." + name + ".node.selector.", selector);
  return {{"nodeSelector", std::move(selector)}, {"tolerations", array_at(given, {"tolerations"})}};
}

// The role's own fields have precedence.
void add_placement(const json& spec, const std::string& name, json& pod) {
  const json& role = object_at(spec, {name});
  json placement = placement_beside(spec, name);
  json& selector = placement["nodeSelector"];
  selector.update(object_at(spec, {"nodeSelector"}));
  selector.update(object_at(role, {"nodeSelector"}));
  if (!selector.empty()) pod["nodeSelector"] = std::move(selector);
  json& tolerations = placement["tolerations"];
  for (const json& toleration : array_at(role, {"tolerations"})) {
    if (std::find(tolerations.begin(), tolerations.end(), toleration) == tolerations.end())
      tolerations.push_back(toleration);
  }
  if (!tolerations.empty()) pod["tolerations"] = std::move(tolerations);
}

json pod_template_of(const json& spec, const char* name, DescribedJob& job) {
  const SparkRole role(spec, name);
  json volumes = volumes_of(spec, role.fields());
  json pod = {{"containers", json::array({main_container(role, name, volumes, job)})}};
  for (const char* field : {"affinity", "priorityClassName", "initContainers"}) {
    const json* value = find_path(role.fields(), {field});
    if (value != nullptr && says_something(*value)) pod[field] = *value;
  }
  add_placement(spec, name, pod);
  add_template(role.fields(), name, pod);
  add_sidecars(role.fields(), pod["containers"]);
  if (!volumes.empty()) pod["volumes"] = std::move(volumes);
  return {{"metadata", metadata_of(role.fields())}, {"spec", std::move(pod)}};
}

// The fields that a start and a stop edit.
json kept_of(const json& spec) {
  json kept = {{"nodeSelector", object_at(spec, {"nodeSelector"})}};
  for (const char* name : kRoles) {
    const json& role = object_at(spec, {name});
    const json* pod_template = find_path(role, {"template"});
    kept[name] = {{"labels", object_at(role, {"labels"})},
                  {"annotations", object_at(role, {"annotations"})},
                  {"nodeSelector", object_at(role, {"nodeSelector"})},
                  {"tolerations", array_at(role, {"tolerations"})},
                  {"schedulingGates", array_at(role, {"template", "spec", "schedulingGates"})},
                  {"beside", placement_beside(spec, name)},
                  {"hasTemplate", pod_template != nullptr && pod_template->is_object()}};
  }
  return kept;
}

void read(const json& object, DescribedJob& job) {
  const json& spec = object_at(object, {"spec"});
  const int32_t executors = SparkRole(spec, kRoles[1]).instances();
  for (const char* name : kRoles) {
    const bool is_driver = name == kRoles[0];
    if (object_at(spec, {name}).empty()) {
      job.unreadable = std::string("it has no spec.") + name;
      continue;
    }
    job.pod_sets.push_back({.name = name,
                            .count = is_driver ? 1 : executors,
                            .source = 0,
                            .element = 0,
                            .pod_template = read_pod_template(pod_template_of(spec, name, job)),
                            .place = std::string("spec.") + name});
  }
  job.kept = to_text(kept_of(spec));
  int64_t there = 0;
  for (const json& state : object_at(object, {"status", "executorState"}))
    there += state == "RUNNING" || state == "COMPLETED";
  job.pods_ready = job.pods_ready && there >= executors;
}

// --- What a start and a stop edit ---

// Labels, annotations, node selectors and tolerations are fields of `driver` and `executor`.
// Gates are in their pod templates; a start creates a missing template. The application's node selector becomes that of
// both roles, because the operator accepts only one of the two.

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

extern const KindHook hook;
const KindHook hook = {.name = "spark", .makes_pod_sets = true, .read = read, .start = start, .restore = restore};

}  // namespace muster::hooks::spark
