// SparkApplication: the pods of the driver and the executors are made of fields of their own, `driver` and `executor`;
// of their pod templates only the metadata is used.
// Source: Spark operator, v1beta2, as facts.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/kinds/hooks/hooks.h"
#include "api/meta/quantity.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr const char* kRoles[] = {"driver", "executor"};

// Converts a size in Java's form, "512m" or "2gb", to Kubernetes' form. A size in Kubernetes' form ("1Gi") does
// not change.
Result<Quantity> parse_memory(std::string_view text) {
  std::string_view number = text;
  if (number.ends_with('b')) number.remove_suffix(1);
  const size_t unit = std::string_view("kmgt").find(number.empty() ? '?' : number.back());
  if (unit != std::string_view::npos) {
    number.remove_suffix(1);
    return Quantity::parse(std::string(number) + std::string("KMGT").substr(unit, 1) + "i");
  }
  const auto quantity = Quantity::parse(text);
  const bool is_decimal = !text.empty() && std::string_view("KMGTPEeE").find(text.back()) != std::string_view::npos;
  if (quantity.ok() && is_decimal) return fail("is no size of memory");
  return quantity;
}

// Puts a field of the role into the container's resources; a wrong value makes the job unreadable.
void put_amount(const json& role, const char* field, bool memory, json& amounts, DescribedJob& job) {
  const std::string_view text = string_at(role, {field});
  if (text.empty()) return;
  const auto quantity = memory ? parse_memory(text) : Quantity::parse(text);
  if (quantity.ok()) {
    amounts[memory ? "memory" : "cpu"] = quantity->text();
    return;
  }
  const std::string_view name = field;
  job.unreadable = "failed to parse " + std::string(memory ? "memory" : "CPU") +
                   (name.ends_with("Limit") ? " limits " : " requests ") + std::string(text) + ": " +
                   quantity.error().message;
}

json main_container(const json& role, const char* name, const json& volumes, DescribedJob& job) {
  json requests = json::object(), limits = json::object();
  put_amount(role, "coreRequest", false, requests, job);
  put_amount(role, "memory", true, requests, job);
  put_amount(role, "coreLimit", false, limits, job);
  put_amount(role, "memoryLimit", true, limits, job);
  const json& gpu = object_at(role, {"gpu"});
  const int64_t gpus = int_at(gpu, {"quantity"}).value_or(0);
  if (gpus > 0 && !string_at(gpu, {"name"}).empty())
    limits[std::string(string_at(gpu, {"name"}))] = Quantity::of(gpus).text();
  json container = {{"name", "spark-kubernetes-" + std::string(name)}, {"resources", json::object()}};
  if (!requests.empty()) container["resources"]["requests"] = std::move(requests);
  if (!limits.empty()) container["resources"]["limits"] = std::move(limits);
  std::set<std::string_view> there;
  for (const json& volume : volumes) there.insert(string_at(volume, {"name"}));
  for (const json& mount : array_at(role, {"volumeMounts"})) {
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

json pod_template_of(const json& spec, const char* name, DescribedJob& job) {
  const json& role = object_at(spec, {name});
  json volumes = volumes_of(spec, role);
  json pod = {{"containers", json::array({main_container(role, name, volumes, job)})}};
  add_sidecars(role, pod["containers"]);
  for (const char* field : {"nodeSelector", "tolerations", "affinity", "priorityClassName", "initContainers"}) {
    const json* value = find_path(role, {field});
    const bool empty = value == nullptr || value->is_null() || (value->is_structured() && value->empty());
    if (!empty) pod[field] = *value;
  }
  if (!volumes.empty()) pod["volumes"] = std::move(volumes);
  return {{"metadata", metadata_of(role)}, {"spec", std::move(pod)}};
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
                  {"hasTemplate", pod_template != nullptr && pod_template->is_object()}};
  }
  return kept;
}

int32_t executors_of(const json& spec) {
  static const PodSetSource source = {.path = {},
                                      .each = false,
                                      .name = {},
                                      .name_path = {},
                                      .pod_template = {},
                                      .when = {},
                                      .counts = {{.path = *ValuePath::parse("instances"), .absent = 0}}};
  return count_of(source, object_at(spec, {"executor"}));
}

void read(const json& object, DescribedJob& job) {
  const json& spec = object_at(object, {"spec"});
  const int32_t executors = executors_of(spec);
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
