#include "simulation/operators.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/kinds/serving_types.h"
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

bool pod_is_over(const json& pod) {
  return pod_phase(pod) == "Succeeded" || pod_phase(pod) == "Failed";
}

bool pod_is_ready(const json& pod) {
  return condition_is_true(read_conditions(array_at(pod, {"status", "conditions"})), "Ready");
}

std::string object_name(const json& object) {
  return std::string(string_at(object, {"metadata", "name"}));
}

bool is_pytorch(const ObjectKey& key) {
  return key.type->kind == "PyTorchJob";
}

bool job_is_suspended(const ObjectKey& key, const json& job) {
  return is_pytorch(key) ? bool_at(job, {"spec", "runPolicy", "suspend"}) : bool_at(job, {"spec", "suspend"});
}

json operator_condition(const char* type, bool is_true) {
  return {{"type", type}, {"status", is_true ? "True" : "False"}, {"reason", type}, {"message", ""}};
}

bool is_operated(const ResourceType& type) {
  return type.kind == "PyTorchJob" || type.kind == "RayJob" || type.plural == kStatefulSets.plural ||
         type.plural == kLeaderWorkerSets.plural;
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
  const JobKind* kind = find_job_kind(group_of(owner->api_version), owner->kind);
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
  sync.uid = string_at(*sync.object, {"metadata", "uid"});
  sync.pods = pods_of(sync.uid);
  key.type->plural == kStatefulSets.plural || key.type->plural == kLeaderWorkerSets.plural ? run_set(sync)
                                                                                           : run_job(sync);
}

// --- What pods there shall be ---

std::vector<Operators::WantedPod> Operators::pods_of_pytorch(const json& job) {
  std::vector<WantedPod> pods;
  for (const auto& [role, spec] : object_at(job, {"spec", "pytorchReplicaSpecs"}).items()) {
    const std::string prefix = object_name(job) + (role == "Master" ? "-master-" : "-worker-");
    for (int64_t i = 0; i < int_at(spec, {"replicas"}).value_or(1); ++i)
      pods.push_back({.name = prefix + std::to_string(i),
                      .pod_template = object_at(spec, {"template"}),
                      .ends_job = role == "Master"});
  }
  return pods;
}

std::vector<Operators::WantedPod> Operators::pods_of_ray(const json& job) {
  const json& cluster = object_at(job, {"spec", "rayClusterSpec"});
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
  metadata["ownerReferences"] = json::array({{{"apiVersion", sync.key.type->api_version},
                                              {"kind", sync.key.type->kind},
                                              {"name", sync.key.name},
                                              {"uid", sync.uid},
                                              {"controller", true},
                                              {"blockOwnerDeletion", true}}});
  // No webhook answers while no replica of muster serves: tried again, as by every controller.
  if (!server_.create(std::move(pod), kAsOperator).done())
    timeline_.after(std::chrono::seconds(2), [this, key = sync.key] { look_soon(key); });
}

void Operators::remove_pods(const Sync& sync, const std::set<std::string>& kept) {
  for (const ObjectPtr& pod : sync.pods) {
    if (kept.contains(object_name(*pod)) || is_deleting(*pod)) continue;
    server_.remove(key_of(kPods, *pod), {.uid = std::string(string_at(*pod, {"metadata", "uid"}))}, kAsOperator);
  }
}

void Operators::write_status(const Sync& sync, json status) {
  server_.patch_status(sync.key, {{"metadata", {{"uid", sync.uid}}}, {"status", std::move(status)}}, kAsOperator);
}

void Operators::run_job(const Sync& sync) {
  const json& job = *sync.object;
  const bool pytorch = is_pytorch(sync.key);
  const JobKind& kind = *find_job_kind(*sync.key.type);
  if (kind.end(read_object(kind.type, job))) return remove_pods(sync, {});
  const std::vector<WantedPod> wanted = pytorch ? pods_of_pytorch(job) : pods_of_ray(job);
  size_t ready = 0, active = 0;
  bool over = false;
  for (const ObjectPtr& pod : sync.pods) {
    active += !pod_is_over(*pod);
    ready += pod_is_ready(*pod) && !is_deleting(*pod);
  }
  if (job_is_suspended(sync.key, job)) {
    remove_pods(sync, {});
    if (pytorch)
      return write_status(
          sync, {{"replicaStatuses", {{"Worker", {{"active", active}}}}},
                 {"conditions", {operator_condition("Suspended", true), operator_condition("Running", false)}}});
    return write_status(sync, {{"jobDeploymentStatus", active > 0 ? "Suspending" : "Suspended"},
                               {"rayClusterStatus", {{"state", "suspended"}}}});
  }
  for (const WantedPod& pod : wanted) {
    const json* found = sync.find(pod.name);
    if (found == nullptr) {
      create_pod(sync, pod);
    } else if (pod_phase(*found) == "Failed" && !is_deleting(*found)) {
      server_.remove(key_of(kPods, *found), {}, kAsOperator);
    }
    over = over || (pod.ends_job && found != nullptr && pod_phase(*found) == "Succeeded");
  }
  const bool all_ready = ready >= wanted.size();
  if (pytorch) {
    json conditions = {operator_condition("Suspended", false), operator_condition("Running", all_ready)};
    if (over) conditions.push_back(operator_condition("Succeeded", true));
    return write_status(sync, {{"replicaStatuses", {{"Worker", {{"active", over ? 0 : active}}}}},
                               {"conditions", std::move(conditions)}});
  }
  write_status(sync, {{"jobDeploymentStatus", over ? "Complete" : "Running"},
                      {"jobStatus", over ? "SUCCEEDED" : "RUNNING"},
                      {"rayClusterStatus", {{"state", all_ready ? "ready" : ""}}}});
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
    if (found != nullptr && pod_is_over(*found) && !is_deleting(*found))
      server_.remove(key_of(kPods, *found), {}, kAsOperator);
    const bool is_up = found != nullptr && pod_is_ready(*found) && !is_deleting(*found);
    ready += is_up;
    waits = waits || (ordered && !is_up);
  }
  remove_pods(sync, names);
  write_status(sync, {{"replicas", sync.pods.size()}, {"readyReplicas", ready}});
}

}  // namespace muster::simulation
