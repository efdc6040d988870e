#include "simulation/operators.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "api/codec/json.h"
#include "api/kinds/serving_types.h"
#include "api/pods/pod_phase.h"
#include "api/workload_conditions.h"
#include "jobs/job_kind.h"
#include "simulation/object_rules.h"

namespace muster::simulation {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

const Request kAsOperator{.user = "system:serviceaccount:operators:controller"};

std::string_view pod_phase(const json& pod) {
  return string_at(pod, {"status", "phase"});
}

bool pod_is_ready(const json& pod) {
  return condition_is_true(read_conditions(array_at(pod, {"status", "conditions"})), "Ready");
}

std::string object_name(const json& object) {
  return std::string(string_at(object, {"metadata", "name"}));
}

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

json operator_condition(const char* type, bool is_true) {
  return {{"type", type}, {"status", is_true ? "True" : "False"}, {"reason", type}, {"message", ""}};
}

bool is_operated(const ResourceType& type) {
  static constexpr std::string_view kKinds[] = {"RayJob", "RayCluster", "SparkApplication", "AppWrapper"};
  return find_training_job(type.kind) != nullptr ||
         std::find(std::begin(kKinds), std::end(kKinds), type.kind) != std::end(kKinds) ||
         type.plural == kStatefulSets.plural || type.plural == kLeaderWorkerSets.plural;
}

}  // namespace

const json* Operators::Sync::find(const std::string& name) const {
  const auto found =
      std::find_if(pods.begin(), pods.end(), [&](const ObjectPtr& pod) { return object_name(*pod) == name; });
  return found == pods.end() ? nullptr : found->get();
}

Operators::Operators(ApiServer& server, Timeline& timeline, uint64_t seed)
    : server_(server), timeline_(timeline), chance_(seed, "operators") {
  server_.on_change([this](const Change& change) { see(change); });
}

void Operators::see(const Change& change) {
  if (is_operated(*change.type)) {
    if (!change.removed) look_soon(key_of(*change.type, *change.after));
    return;
  }
  if (change.type->plural != kPods.plural) return;
  const std::optional<OwnerReference> owner = controller_of(*change.after);
  if (!owner) return;
  const JobKind* kind = find_job_kind(*owner);
  if (kind != nullptr && is_operated(kind->type))
    look_soon({&kind->type, std::string(string_at(*change.after, {"metadata", "namespace"})), owner->name});
}

void Operators::look_soon(const ObjectKey& key) {
  if (!queued_.insert(key).second) return;
  timeline_.after(chance_.between(milliseconds(5), milliseconds(150)), [this, key] {
    queued_.erase(key);
    look_at(key);
  });
}

std::vector<ObjectPtr> Operators::pods_of(const std::string& uid) const {
  std::vector<ObjectPtr> pods;
  for (const ObjectKey& key : server_.dependents_of(uid)) {
    if (key.type->plural != kPods.plural) continue;
    const ObjectPtr pod = server_.get(key);
    const auto owner = controller_of(*pod);
    if (owner && owner->uid == uid) pods.push_back(pod);
  }
  return pods;
}

void Operators::look_at(const ObjectKey& key) {
  Sync sync{.key = key, .object = server_.get(key), .uid = {}, .pods = {}};
  if (sync.object == nullptr || is_deleting(*sync.object)) return;
  sync.uid = uid_of(*sync.object);
  sync.pods = pods_of(sync.uid);
  if (find_job_kind(*key.type)->is_serving())
    run_set(sync);
  else
    run_job(sync);
}

// --- What pods there shall be ---

std::vector<Operators::WantedPod> Operators::pods_of_job(const ResourceType& type, const json& job) {
  if (const TrainingJob* kind = find_training_job(type.kind)) return pods_of_training(*kind, job);
  if (type.kind == "RayJob") return pods_of_ray(job, object_at(job, {"spec", "rayClusterSpec"}));
  if (type.kind == "RayCluster") return pods_of_ray(job, object_at(job, {"spec"}));
  return type.kind == "AppWrapper" ? pods_of_appwrapper(job) : pods_of_spark(job);
}

std::vector<Operators::WantedPod> Operators::pods_of_training(const TrainingJob& kind, const json& job) {
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

std::vector<Operators::WantedPod> Operators::pods_of_ray(const json& job, const json& cluster) {
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

// Of components that are pods.
std::vector<Operators::WantedPod> Operators::pods_of_appwrapper(const json& job) {
  std::vector<WantedPod> pods;
  for (const json& component : array_at(job, {"spec", "components"})) {
    json pod_template = object_at(component, {"template"});
    std::string name = object_name(pod_template);
    pods.push_back({.name = std::move(name), .pod_template = std::move(pod_template), .ends_job = true});
  }
  return pods;
}

// The operator makes the pods of fields of its own.
std::vector<Operators::WantedPod> Operators::pods_of_spark(const json& job) {
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

std::vector<Operators::WantedPod> Operators::pods_of_stateful_set(const json& set) {
  std::vector<WantedPod> pods;
  for (int64_t i = 0; i < int_at(set, {"spec", "replicas"}).value_or(1); ++i) {
    const std::string index = std::to_string(i);
    pods.push_back({.name = object_name(set) + "-" + index,
                    .pod_template = object_at(set, {"spec", "template"}),
                    .labels = {{kStatefulSetPodIndex, index}, {kRevisionHash, "first"}}});
  }
  return pods;
}

std::vector<Operators::WantedPod> Operators::pods_of_leader_worker_set(const json& set) {
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

// --- What is done about it ---

void Operators::create_pod(const Sync& sync, const WantedPod& wanted) {
  json pod = wanted.pod_template;
  pod["apiVersion"] = kPods.api_version;
  pod["kind"] = kPods.kind;
  json& metadata = pod["metadata"];
  metadata["name"] = wanted.name;
  metadata["namespace"] = sync.key.ns;
  for (const auto& [key, value] : wanted.labels.items()) metadata["labels"][key] = value;
  for (const auto& [key, value] : wanted.annotations.items()) metadata["annotations"][key] = value;
  metadata["ownerReferences"] = json::array({controller_reference(*sync.key.type, read_meta(*sync.object), true)});
  // No webhook answers while no replica of muster serves: tried again, as by every controller.
  if (!server_.create(std::move(pod), kAsOperator).done())
    timeline_.after(std::chrono::seconds(2), [this, key = sync.key] { look_soon(key); });
}

void Operators::remove_pods(const Sync& sync, const std::set<std::string>& kept) {
  for (const ObjectPtr& pod : sync.pods) {
    if (kept.contains(object_name(*pod)) || is_deleting(*pod)) continue;
    server_.remove(key_of(kPods, *pod), {.uid = uid_of(*pod)}, kAsOperator);
  }
}

void Operators::write_status(const Sync& sync, json status) {
  server_.patch_status(sync.key, {{"metadata", {{"uid", sync.uid}}}, {"status", std::move(status)}}, kAsOperator);
}

namespace {

// How far a job's pods are.
struct Progress {
  size_t active = 0;
  bool suspended = false, all_ready = false, over = false;
};

json training_status(const Progress& pods) {
  json conditions = {operator_condition("Suspended", pods.suspended),
                     operator_condition("Running", pods.all_ready && !pods.suspended)};
  if (pods.over) conditions.push_back(operator_condition("Succeeded", true));
  return {{"replicaStatuses", {{"Worker", {{"active", pods.over ? 0 : pods.active}}}}},
          {"conditions", std::move(conditions)}};
}

json ray_status(const Progress& pods) {
  if (pods.suspended) {
    return {{"jobDeploymentStatus", pods.active > 0 ? "Suspending" : "Suspended"},
            {"rayClusterStatus", {{"state", "suspended"}}}};
  }
  return {{"jobDeploymentStatus", pods.over ? "Complete" : "Running"},
          {"jobStatus", pods.over ? "SUCCEEDED" : "RUNNING"},
          {"rayClusterStatus", {{"state", pods.all_ready ? "ready" : ""}}}};
}

json spark_status(const Progress& pods) {
  const char* state = pods.all_ready ? "RUNNING" : "SUBMITTED";
  if (pods.over) state = "COMPLETED";
  if (pods.suspended) state = pods.active > 0 ? "SUSPENDING" : "SUSPENDED";
  return {{"applicationState", {{"state", state}}}};
}

json ray_cluster_status(const Progress& pods) {
  const char* state = pods.all_ready ? "ready" : "";
  return {{"state", pods.suspended && pods.active == 0 ? "suspended" : state}};
}

// It says that it has quota until its last pod has ended.
json appwrapper_status(const Progress& pods) {
  const char* phase = pods.over ? "Succeeded" : "Running";
  if (pods.suspended) phase = pods.active > 0 ? "Suspending" : "Suspended";
  return {{"phase", phase},
          {"conditions", json::array({operator_condition("QuotaReserved", !pods.suspended || pods.active > 0),
                                      operator_condition("PodsReady", pods.all_ready)})}};
}

json status_of(const ResourceType& type, const Progress& pods) {
  if (find_training_job(type.kind) != nullptr) return training_status(pods);
  if (type.kind == "RayJob") return ray_status(pods);
  if (type.kind == "RayCluster") return ray_cluster_status(pods);
  return type.kind == "AppWrapper" ? appwrapper_status(pods) : spark_status(pods);
}

}  // namespace

void Operators::run_job(const Sync& sync) {
  const json& job = *sync.object;
  const JobKind& kind = *find_job_kind(*sync.key.type);
  if (kind.end(read_object(kind.type, job))) return remove_pods(sync, {});
  size_t ready = 0;
  Progress progress{.suspended = kind.suspended(job)};
  for (const ObjectPtr& pod : sync.pods) {
    progress.active += !pod_has_ended(*pod);
    ready += pod_is_ready(*pod) && !is_deleting(*pod);
  }
  if (progress.suspended) {
    remove_pods(sync, {});
    return write_status(sync, status_of(kind.type, progress));
  }
  const std::vector<WantedPod> wanted = pods_of_job(kind.type, job);
  for (const WantedPod& pod : wanted) {
    const json* found = sync.find(pod.name);
    if (found == nullptr) {
      create_pod(sync, pod);
    } else if (pod_phase(*found) == "Failed" && !is_deleting(*found)) {
      server_.remove(key_of(kPods, *found), {}, kAsOperator);
    }
    progress.over = progress.over || (pod.ends_job && found != nullptr && pod_phase(*found) == "Succeeded");
  }
  progress.all_ready = ready >= wanted.size();
  // Whoever reads that the job is over finds no pods that run.
  if (progress.over) remove_pods(sync, {});
  write_status(sync, status_of(kind.type, progress));
}

void Operators::run_set(const Sync& sync) {
  const bool ordered = sync.key.type->plural == kStatefulSets.plural;
  const std::vector<WantedPod> wanted =
      ordered ? pods_of_stateful_set(*sync.object) : pods_of_leader_worker_set(*sync.object);
  std::set<std::string> names;
  int64_t ready = 0;
  bool waits = false;
  for (const WantedPod& pod : wanted) {
    names.insert(pod.name);
    const json* found = sync.find(pod.name);
    const auto leader = pod.annotations.find(std::string(kLeaderName));
    const bool has_leader = leader == pod.annotations.end() || sync.find(leader->get<std::string>()) != nullptr;
    if (found == nullptr && !waits && has_leader) create_pod(sync, pod);
    if (found != nullptr && pod_has_ended(*found) && !is_deleting(*found))
      server_.remove(key_of(kPods, *found), {}, kAsOperator);
    const bool is_up = found != nullptr && pod_is_ready(*found) && !is_deleting(*found);
    ready += is_up;
    waits = waits || (ordered && !is_up);
  }
  remove_pods(sync, names);
  write_status(sync, {{"replicas", sync.pods.size()}, {"readyReplicas", ready}});
}

}  // namespace muster::simulation
