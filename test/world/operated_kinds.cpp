#include "test/world/operated_kinds.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "api/codec/json.h"
#include "kinds/serving_types.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;

// nullptr: another kind.
const TrainingJob* find_training_job(std::string_view kind) {
  const auto found = std::find_if(std::begin(kTrainingJobs), std::end(kTrainingJobs),
                                  [&](const TrainingJob& job) { return job.kind == kind; });
  return found == std::end(kTrainingJobs) ? nullptr : found;
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// --- Pods ---

std::vector<WantedPod> pods_of_training(const json& job) {
  const TrainingJob& kind = *find_training_job(string_at(job, {"kind"}));
  std::vector<WantedPod> pods;
  for (const auto& [role, spec] : object_at(job, {"spec", kind.replica_specs}).items()) {
    const std::string prefix = object_name(job) + "-" + in_small_letters(role) + "-";
    for (int64_t i = 0; i < int_at(spec, {"replicas"}).value_or(1); ++i)
      pods.push_back({.name = prefix + std::to_string(i),
                      .pod_template = object_at(spec, {"template"}),
                      .ends_job = role == kind.main_role});
  }
  return pods;
}

std::vector<WantedPod> pods_of_ray_cluster_spec(const json& job, const json& cluster) {
  std::vector<WantedPod> pods = {{.name = object_name(job) + "-head",
                                  .pod_template = object_at(cluster, {"headGroupSpec", "template"}),
                                  .ends_job = true}};
  for (const json& group : array_at(cluster, {"workerGroupSpecs"})) {
    for (int64_t i = 0; i < int_at(group, {"replicas"}).value_or(1); ++i)
      pods.push_back(
          {.name = object_name(job) + "-" + std::string(string_at(group, {"groupName"})) + "-" + std::to_string(i),
           .pod_template = object_at(group, {"template"})});
  }
  return pods;
}

std::vector<WantedPod> pods_of_ray_job(const json& job) {
  return pods_of_ray_cluster_spec(job, object_at(job, {"spec", "rayClusterSpec"}));
}

std::vector<WantedPod> pods_of_ray_cluster(const json& cluster) {
  return pods_of_ray_cluster_spec(cluster, object_at(cluster, {"spec"}));
}

std::vector<WantedPod> pods_of_ray_service(const json& service) {
  return pods_of_ray_cluster_spec(service, object_at(service, {"spec", "rayClusterConfig"}));
}

// Of components that are pods.
std::vector<WantedPod> pods_of_appwrapper(const json& job) {
  std::vector<WantedPod> pods;
  for (const json& component : array_at(job, {"spec", "components"})) {
    json pod_template = object_at(component, {"template"});
    std::string name = object_name(pod_template);
    pods.push_back({.name = std::move(name), .pod_template = std::move(pod_template), .ends_job = true});
  }
  return pods;
}

// The operator makes the pods from separate fields.
std::vector<WantedPod> pods_of_spark(const json& job) {
  const auto pod_of = [&](std::string name, const json& role, bool ends_job) {
    const json container = {{"name", "spark"},
                            {"image", string_at(job, {"spec", "image"})},
                            {"resources", {{"requests", {{"cpu", string_at(role, {"coreRequest"})}}}}}};
    return WantedPod{.name = std::move(name),
                     .pod_template = {{"spec", {{"restartPolicy", "Never"}, {"containers", json::array({container})}}}},
                     .labels = object_at(role, {"labels"}),
                     .annotations = object_at(role, {"annotations"}),
                     .ends_job = ends_job};
  };
  const json& spec = object_at(job, {"spec"});
  std::vector<WantedPod> pods = {pod_of(object_name(job) + "-driver", object_at(spec, {"driver"}), true)};
  const json& executor = object_at(spec, {"executor"});
  for (int64_t i = 1; i <= int_at(executor, {"instances"}).value_or(1); ++i)
    pods.push_back(pod_of(object_name(job) + "-exec-" + std::to_string(i), executor, false));
  return pods;
}

std::vector<WantedPod> pods_of_deployment(const json& deployment) {
  std::vector<WantedPod> pods;
  for (int64_t i = 0; i < int_at(deployment, {"spec", "replicas"}).value_or(1); ++i)
    pods.push_back({.name = object_name(deployment) + "-" + std::to_string(i),
                    .pod_template = object_at(deployment, {"spec", "template"})});
  return pods;
}

std::vector<WantedPod> pods_of_stateful_set(const json& set) {
  std::vector<WantedPod> pods;
  for (int64_t i = 0; i < int_at(set, {"spec", "replicas"}).value_or(1); ++i) {
    const std::string index = std::to_string(i);
    pods.push_back({.name = object_name(set) + "-" + index,
                    .pod_template = object_at(set, {"spec", "template"}),
                    .labels = {{kStatefulSetPodIndex, index}, {kRevisionHash, "first"}}});
  }
  return pods;
}

std::vector<WantedPod> pods_of_leader_worker_set(const json& set) {
  const json& shape = object_at(set, {"spec", "leaderWorkerTemplate"});
  const json& worker = object_at(shape, {"workerTemplate"});
  const json& leader = shape.contains("leaderTemplate") ? shape["leaderTemplate"] : worker;
  std::vector<WantedPod> pods;
  for (int64_t group = 0; group < int_at(set, {"spec", "replicas"}).value_or(1); ++group) {
    const std::string name = object_name(set) + "-" + std::to_string(group);
    for (int64_t i = 0; i < int_at(shape, {"size"}).value_or(1); ++i) {
      WantedPod pod{.name = i == 0 ? name : name + "-" + std::to_string(i), .pod_template = i == 0 ? leader : worker};
      pod.labels = {{kLeaderWorkerSetName, object_name(set)},
                    {kLeaderWorkerGroup, std::to_string(group)},
                    {kLeaderWorkerIndex, std::to_string(i)}};
      if (i > 0) pod.annotations = {{kLeaderName, name}};
      pods.push_back(std::move(pod));
    }
  }
  return pods;
}

// --- Status ---

json training_status(const PodProgress& pods) {
  json conditions = {operator_condition("Suspended", pods.suspended),
                     operator_condition("Running", pods.all_ready && !pods.suspended)};
  if (pods.over) conditions.push_back(operator_condition("Succeeded", true));
  return {{"replicaStatuses", {{"Worker", {{"active", pods.over ? 0 : pods.active}}}}},
          {"conditions", std::move(conditions)}};
}

json ray_status(const PodProgress& pods) {
  if (pods.suspended) {
    return {{"jobDeploymentStatus", pods.active > 0 ? "Suspending" : "Suspended"},
            {"rayClusterStatus", {{"state", "suspended"}}}};
  }
  return {{"jobDeploymentStatus", pods.over ? "Complete" : "Running"},
          {"jobStatus", pods.over ? "SUCCEEDED" : "RUNNING"},
          {"rayClusterStatus", {{"state", pods.all_ready ? "ready" : ""}}}};
}

json spark_status(const PodProgress& pods) {
  const char* state = pods.all_ready ? "RUNNING" : "SUBMITTED";
  if (pods.over) state = "COMPLETED";
  if (pods.suspended) state = pods.active > 0 ? "SUSPENDING" : "SUSPENDED";
  return {{"applicationState", {{"state", state}}}};
}

json ray_cluster_status(const PodProgress& pods) {
  const char* state = pods.all_ready ? "ready" : "";
  return {{"state", pods.suspended && pods.active == 0 ? "suspended" : state}};
}

json ray_service_status(const PodProgress& pods) {
  return {{"conditions", json::array({operator_condition("Ready", pods.all_ready && !pods.suspended)})}};
}

// It says that it has quota until its last pod has ended.
json appwrapper_status(const PodProgress& pods) {
  const char* phase = pods.over ? "Succeeded" : "Running";
  if (pods.suspended) phase = pods.active > 0 ? "Suspending" : "Suspended";
  return {{"phase", phase},
          {"conditions", json::array({operator_condition("QuotaReserved", !pods.suspended || pods.active > 0),
                                      operator_condition("PodsReady", pods.all_ready)})}};
}

}  // namespace

json operator_condition(const char* type, bool is_true) {
  return {{"type", type}, {"status", is_true ? "True" : "False"}, {"reason", type}, {"message", ""}};
}

const OperatedKind* find_operated_kind(std::string_view kind) {
  static constexpr OperatedKind kTraining{"", pods_of_training, training_status};
  static constexpr OperatedKind kKinds[] = {
      {"RayJob", pods_of_ray_job, ray_status},
      {"RayCluster", pods_of_ray_cluster, ray_cluster_status},
      {"RayService", pods_of_ray_service, ray_service_status},
      {"AppWrapper", pods_of_appwrapper, appwrapper_status},
      {"SparkApplication", pods_of_spark, spark_status},
      {"Deployment", pods_of_deployment, nullptr},
      {"StatefulSet", pods_of_stateful_set, nullptr},
      {"LeaderWorkerSet", pods_of_leader_worker_set, nullptr},
  };
  if (find_training_job(kind) != nullptr) return &kTraining;
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const OperatedKind& each) { return each.kind == kind; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace muster::world
