// SparkApplication: the pods of the driver and the executors are made from separate fields, `driver` and `executor`,
// and of their pod templates, of which the metadata and what quota counts is read.
// Source: Spark operator, v1beta2, as facts.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "kinds/hooks/hooks.h"
#include "kinds/hooks/spark_resources.h"

namespace muster {
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

}  // namespace

const KindHook spark_hook = {.name = "spark", .makes_pod_sets = true, .read = read};

}  // namespace muster
