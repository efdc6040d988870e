// RayJob, RayCluster, RayService: the containers that KubeRay adds to the head's pod, and the pod that submits
// a RayJob.
//
// The first pod set of such a kind is the head, the second the worker groups; a RayJob's third is the submitter.
// Source: KubeRay's controllers, as facts.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/ascii.h"
#include "kinds/kind_description.h"
#include "kinds/kind_hook.h"

namespace muster::hooks::ray {
namespace {

using nlohmann::json;

constexpr size_t kHead = 0;
constexpr size_t kSubmitter = 2;
constexpr std::string_view kSubmitterContainer = "ray-job-submitter";
constexpr std::string_view kFaultTolerance = "ray.io/ft-enabled";
constexpr std::string_view kAnnotations[] = {kFaultTolerance};

// Where the fields of the cluster are: "spec.rayClusterSpec" of "spec.rayClusterSpec.headGroupSpec".
const json* cluster_of(const KindDescription& kind, const json& object) {
  const json* place = &object;
  const std::vector<std::string>& steps = kind.pod_sets[kHead].path.steps();
  for (size_t i = 0; i + 1 < steps.size() && place != nullptr; ++i) place = find_path(*place, {steps[i]});
  return place;
}

bool has_fault_tolerance(const json& cluster, const json& object) {
  if (!object_at(cluster, {"gcsFaultToleranceOptions"}).empty()) return true;
  const json* options = find_path(cluster, {"gcsFaultToleranceOptions"});
  if (options != nullptr && options->is_object()) return true;
  return in_small_letters(annotation(object, kFaultTolerance).value_or("")) == "true";
}

json resources(const char* cpu, const char* memory, const char* cpu_limit, const char* memory_limit) {
  return {{"requests", {{"cpu", cpu}, {"memory", memory}}}, {"limits", {{"cpu", cpu_limit}, {"memory", memory_limit}}}};
}

json submitter_container() {
  return {{"name", kSubmitterContainer}, {"resources", resources("500m", "200Mi", "1", "1Gi")}};
}

// In a separate pod it runs the head's image.
json submitter_container_of(const json& head_template) {
  json container = submitter_container();
  const json& containers = array_at(head_template, {"spec", "containers"});
  if (!containers.empty() && find_path(containers[0], {"image"}) != nullptr)
    container["image"] = containers[0]["image"];
  return container;
}

json autoscaler_container(const json& cluster) {
  const json* own = find_path(cluster, {"autoscalerOptions", "resources"});
  const bool given = own != nullptr && own->is_object();
  return {{"name", "autoscaler"}, {"resources", given ? *own : resources("500m", "512Mi", "500m", "512Mi")}};
}

// At the end a pod like the head's cleans up Redis with at least these requests. A resource without a request
// uses its limit.
void raise_request(json& container, const char* resource, const char* least) {
  json& asked = container["resources"];
  if (!asked.is_object()) asked = json::object();
  if (!asked.contains("requests") || !asked["requests"].is_object()) asked["requests"] = json::object();
  json& requests = asked["requests"];
  const json* limit = find_path(asked, {"limits", resource});
  json present = requests.contains(resource) ? requests[resource] : limit == nullptr ? json("0") : *limit;
  const auto amount = Quantity::from_json(present);
  const auto minimum = Quantity::parse(least);
  if (!amount || *amount < *minimum)
    requests[resource] = least;
  else
    requests[resource] = std::move(present);
}

void read_head(const json& object, const json& cluster, DescribedJob& job) {
  const PodSetSource& source = job.kind->pod_sets[kHead];
  const json* group = source.path.find(object);
  const json* written = group == nullptr ? nullptr : source.pod_template.find(*group);
  if (written == nullptr || !written->is_object()) return;
  json head = *written;
  json& spec = head["spec"];
  if (!spec.is_object()) spec = json::object();
  json& containers = spec["containers"];
  if (!containers.is_array()) containers = json::array();
  bool changed = false;
  if (has_fault_tolerance(cluster, object)) {
    if (containers.empty() || !containers[0].is_object()) {
      job.unreadable = "cannot account for Redis cleanup resources: head pod template must include the Ray container";
      return;
    }
    raise_request(containers[0], "cpu", "200m");
    raise_request(containers[0], "memory", "256Mi");
    changed = true;
  }
  if (bool_at(cluster, {"enableInTreeAutoscaling"})) {
    containers.push_back(autoscaler_container(cluster));
    changed = true;
  }
  if (job.kind->pod_sets.size() > kSubmitter && string_at(object, {"spec", "submissionMode"}) == "SidecarMode") {
    containers.push_back(submitter_container());
    changed = true;
  }
  if (!changed) return;
  for (DescribedPodSet& pod_set : job.pod_sets) {
    if (pod_set.source == kHead) pod_set.pod_template = read_pod_template(head);
  }
}

// KubeRay creates a template if the job has none. A start writes the template, so that it can contain the
// placement.
void read_submitter(const json& object, DescribedJob& job) {
  for (DescribedPodSet& pod_set : job.pod_sets) {
    if (pod_set.source != kSubmitter || pod_set.pod_template.spec != nullptr) continue;
    if (job.kind->pod_sets[kSubmitter].pod_template.find(object_at(object, {"spec"})) != nullptr &&
        !job.kind->pod_sets[kSubmitter].pod_template.find(object_at(object, {"spec"}))->is_null())
      continue;
    const PodSetSource& head = job.kind->pod_sets[kHead];
    const json* group = head.path.find(object);
    const json* head_template = group == nullptr ? nullptr : head.pod_template.find(*group);
    const json container = submitter_container_of(head_template == nullptr ? json() : *head_template);
    pod_set.pod_template =
        read_pod_template({{"spec", {{"containers", json::array({container})}, {"restartPolicy", "Never"}}}});
    pod_set.written = false;
  }
}

void read(const json& object, DescribedJob& job) {
  const json* cluster = cluster_of(*job.kind, object);
  if (cluster == nullptr || !cluster->is_object()) {
    job.pod_sets.clear();
    return;
  }
  read_head(object, *cluster, job);
  read_submitter(object, job);
  job.works_while_deleted = job.kind->kind == "RayService" && has_fault_tolerance(*cluster, object);
}

}  // namespace

extern const KindHook hook;
const KindHook hook = {.name = "ray", .read = read, .annotations = kAnnotations};

}  // namespace muster::hooks::ray
