// AppWrapper: one object that contains objects of any kind. Its pod sets are the declared pod sets, or the pod
// sets of the kinds that this code knows. Their names are "<name>-<number>".
// Source: AppWrapper v1beta2 (its controller and webhook), as facts.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/object_meta.h"
#include "api/pods/counts.h"
#include "base/ascii.h"
#include "base/whole_number.h"
#include "kinds/container_defaults.h"
#include "kinds/kind_description.h"
#include "kinds/kind_hook.h"

namespace muster::hooks::appwrapper {
namespace {

using nlohmann::json;

constexpr const char* kIndexOfJobs = "batch.kubernetes.io/job-completion-index";
constexpr const char* kIndexOfJobSets = "jobset.sigs.k8s.io/job-index";
constexpr const char* kIndexOfReplicas = "training.kubeflow.org/replica-index";
constexpr std::string_view kAnnotationPrefix = "workload.codeflare.dev.appwrapper/tas-";
constexpr std::string_view kAnnotations[] = {"workload.codeflare.dev.appwrapper/"};

// A pod set of a component: where its template is, from the component on, and how many pods it has.
struct Part {
  std::string path;
  int32_t count = 1;
  json topology = json::object();
};

std::vector<Part> parts_of_jobset(const json& object) {
  std::vector<Part> parts;
  const json& replicated = array_at(object, {"spec", "replicatedJobs"});
  for (size_t i = 0; i < replicated.size(); ++i) {
    const int32_t replicas = int32_at(replicated[i], {"replicas"}, 1);
    const int64_t pods = pods_of_job_spec(object_at(replicated[i], {"template", "spec"}));
    parts.push_back(
        {"template.spec.replicatedJobs[" + std::to_string(i) + "].template.spec.template",
         saturated_count(pods * saturated_count(replicas)),
         {{"podIndexLabel", kIndexOfJobs}, {"subGroupIndexLabel", kIndexOfJobSets}, {"subGroupCount", replicas}}});
  }
  return parts;
}

std::vector<Part> parts_of_ray(const json& object, const std::string& cluster_path, const json& cluster) {
  std::vector<Part> parts = {{cluster_path + ".headGroupSpec.template", 1}};
  const json& groups = array_at(cluster, {"workerGroupSpecs"});
  for (size_t i = 0; i < groups.size(); ++i)
    parts.push_back({cluster_path + ".workerGroupSpecs[" + std::to_string(i) + "].template",
                     saturated_count(int_at(groups[i], {"replicas"}).value_or(1))});
  return object_at(object, {"spec"}).empty() ? std::vector<Part>() : parts;
}

std::vector<Part> parts_of_pytorch(const json& object) {
  std::vector<Part> parts;
  for (const char* type : {"Master", "Worker"}) {
    const json& replica = object_at(object, {"spec", "pytorchReplicaSpecs", type});
    if (replica.empty()) continue;
    parts.push_back({std::string("template.spec.pytorchReplicaSpecs.") + type + ".template",
                     saturated_count(int_at(replica, {"replicas"}).value_or(1)),
                     {{"podIndexLabel", kIndexOfReplicas}}});
  }
  return parts;
}

std::vector<Part> parts_of_known(const json& object) {
  const std::string_view kind = string_at(object, {"kind"});
  const std::string_view version = string_at(object, {"apiVersion"});
  const auto is = [&](std::string_view of_version, std::string_view of_kind) {
    return version == of_version && kind == of_kind;
  };
  const json& spec = object_at(object, {"spec"});
  if (is("v1", "Pod")) return {{"template", 1}};
  if (is("apps/v1", "Deployment") || is("apps/v1", "StatefulSet"))
    return {{"template.spec.template", saturated_count(int_at(spec, {"replicas"}).value_or(1))}};
  if (is("batch/v1", "Job"))
    return {{"template.spec.template", saturated_count(pods_of_job_spec(spec)), {{"podIndexLabel", kIndexOfJobs}}}};
  if (is("jobset.x-k8s.io/v1alpha2", "JobSet")) return parts_of_jobset(object);
  if (is("kubeflow.org/v1", "PyTorchJob")) return parts_of_pytorch(object);
  if (is("ray.io/v1", "RayCluster")) return parts_of_ray(object, "template.spec", spec);
  if (is("ray.io/v1", "RayJob"))
    return parts_of_ray(object, "template.spec.rayClusterSpec", object_at(spec, {"rayClusterSpec"}));
  return {};
}

json topology_of(const json& annotations) {
  const auto value = [&](const char* name) { return string_at(annotations, {std::string(kAnnotationPrefix) + name}); };
  json topology = json::object();
  if (!value("pod-index-label").empty()) topology["podIndexLabel"] = value("pod-index-label");
  if (!value("sub-group-index-label").empty()) topology["subGroupIndexLabel"] = value("sub-group-index-label");
  const std::string_view count = value("sub-group-count");
  if (const auto number = whole_number<uint32_t>(count); number && count.size() < 10)
    topology["subGroupCount"] = *number;
  return topology;
}

std::vector<Part> declared_parts(const json& pod_sets) {
  std::vector<Part> parts;
  for (const json& pod_set : pod_sets)
    parts.push_back({std::string(string_at(pod_set, {"path"})),
                     saturated_count(int_at(pod_set, {"replicas"}).value_or(1)),
                     topology_of(object_at(pod_set, {"annotations"}))});
  return parts;
}

// The controller writes the pod sets that it found. A tenant can have the right to write there, so this value
// never makes the job smaller.
std::vector<Part> parts_of(const json& component, const json* noted) {
  const json& declared = array_at(component, {"podSets"});
  std::vector<Part> parts =
      declared.empty() ? parts_of_known(object_at(component, {"template"})) : declared_parts(declared);
  if (noted == nullptr) return parts;
  std::vector<Part> others = declared_parts(array_at(*noted, {"podSets"}));
  if (others.size() != parts.size()) return parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (others[i].path != parts[i].path) return parts;
    others[i].count = std::max(others[i].count, parts[i].count);
  }
  return others;
}

// Steps with dots, and numbers of elements in brackets.
const json* find_place(const json& value, std::string_view path) {
  constexpr size_t kMostSteps = 20;
  const json* place = &value;
  for (size_t step = 0; !path.empty(); ++step) {
    if (step == kMostSteps) return nullptr;
    const size_t end = std::min(path.find_first_of(".["), path.size());
    if (end > 0) {
      place = find_path(*place, {path.substr(0, end)});
    } else if (path.front() == '[') {
      const size_t close = std::min(path.find(']'), path.size());
      const std::string_view number = path.substr(1, close - 1);
      const auto index = whole_number<size_t>(number);
      place = index && place->is_array() && *index < place->size() ? &(*place)[*index] : nullptr;
      path.remove_prefix(std::min(close + 1, path.size()));
      if (place == nullptr) return nullptr;
      if (path.starts_with('.')) path.remove_prefix(1);
      continue;
    }
    if (place == nullptr) return nullptr;
    path.remove_prefix(end);
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return place;
}

void fill(json& object, const char* field, json value) {
  if (!object.contains(field) || object[field].is_null()) object[field] = std::move(value);
}

// The pod in the form in which the API server would store it, with the fields that decide where it can run.
// Gates are left out: no controller removes them.
json pod_template_of(const json& written) {
  json metadata = json::object();
  for (const char* map : {"labels", "annotations"}) {
    if (const json& there = object_at(written, {"metadata", map}); !there.empty()) metadata[map] = there;
  }
  json spec = object_at(written, {"spec"});
  spec.erase("schedulingGates");
  for (const char* list : {"containers", "initContainers"}) {
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    for (json& container : spec[list]) {
      if (container.is_object()) container.erase("env");
      fill_container_defaults(container);
    }
  }
  fill(spec, "restartPolicy", "Always");
  fill(spec, "dnsPolicy", "ClusterFirst");
  fill(spec, "schedulerName", "default-scheduler");
  fill(spec, "terminationGracePeriodSeconds", 30);
  fill(spec, "securityContext", json::object());
  fill(spec, "preemptionPolicy", "PreemptLowerPriority");
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

void read_component(const json& component, size_t index, const json* noted, DescribedJob& job) {
  for (const Part& part : parts_of(component, noted)) {
    const json* written = find_place(component, part.path);
    if (written == nullptr || !written->is_object()) continue;
    job.pod_sets.push_back({.name = in_small_letters(job.meta.name) + "-" + std::to_string(job.pod_sets.size()),
                            .count = part.count,
                            .source = 0,
                            .element = index,
                            .pod_template = read_pod_template(pod_template_of(*written)),
                            .topology_labels = to_text(part.topology),
                            .place = "spec.components[" + std::to_string(index) + "]." + part.path});
    if (job.pod_sets.size() > KindDescription::kMostPodSets) return;
  }
}

void read(const json& object, DescribedJob& job) {
  const json& components = array_at(object, {"spec", "components"});
  const json& noted = array_at(object, {"status", "componentStatus"});
  for (size_t i = 0; i < components.size() && job.pod_sets.size() <= KindDescription::kMostPodSets; ++i)
    read_component(components[i], i, noted.size() == components.size() ? &noted[i] : nullptr, job);
  job.kept = to_text(components);
}

// The pods of a component where its kind is known; the templates that a path leads to count once.
int64_t pods_of(const json& component, const std::vector<Part>& parts) {
  int64_t pods = 0;
  for (const Part& part : parts) {
    const json* place = find_place(component, part.path);
    if (place != nullptr && place->is_object()) pods += part.count;
  }
  return pods;
}

FieldErrors uncounted_pods(const json& appwrapper) {
  FieldErrors errors;
  const json& components = array_at(appwrapper, {"spec", "components"});
  for (size_t i = 0; i < components.size(); ++i) {
    const json& declared = array_at(components[i], {"podSets"});
    if (declared.empty()) continue;
    const FieldPath place = FieldPath("spec.components").index(i).child("podSets");
    for (size_t j = 0; j < declared.size(); ++j) {
      const json* found = find_place(components[i], string_at(declared[j], {"path"}));
      if (found == nullptr || !found->is_object())
        errors.push_back(invalid(place.index(j).child("path"), string_at(declared[j], {"path"}),
                                 "there is no pod template at this path, so its pods would not be counted"));
    }
    const int64_t said = pods_of(components[i], declared_parts(declared));
    const int64_t real = pods_of(components[i], parts_of_known(object_at(components[i], {"template"})));
    if (said < real)
      errors.push_back(forbidden(place, "counts " + std::to_string(said) + " pods, and the component makes " +
                                            std::to_string(real) + "; leave podSets out, or count them all"));
  }
  return errors;
}

// --- What a start and a stop edit ---

// A start writes the values for the pods beside each component. Its controller merges them into the
// objects that it creates. The components themselves do not change.

json info_json(const PodSetInfo& info) {
  json given = json::object();
  put_map(given, "annotations", info.annotations);
  put_map(given, "labels", info.labels);
  put_map(given, "nodeSelector", info.node_selector);
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

extern const KindHook hook;
const KindHook hook = {.name = "appwrapper",
                       .makes_pod_sets = true,
                       .read = read,
                       .uncounted_pods = uncounted_pods,
                       .start = start,
                       .restore = restore,
                       .shows_in_templates = false,
                       .annotations = kAnnotations};

}  // namespace muster::hooks::appwrapper
