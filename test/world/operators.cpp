#include "test/world/operators.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/pods/pod_phase.h"
#include "jobs/job_kind.h"
#include "kinds/serving_types.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Pods of a Deployment name it; muster does not know its kind.
const ResourceType kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet", true, "apps/v1"};

const Request kAsOperator{.user = "system:serviceaccount:operators:controller"};

std::string_view pod_phase(const json& pod) {
  return string_at(pod, {"status", "phase"});
}

// What the controller of a pod belongs to; nullptr: nothing that is played here.
const ResourceType* operated_type(const OwnerReference& controller) {
  if (controller.kind == kReplicaSets.kind) return &kDeployments;
  const jobs::JobKind* kind = jobs::find_job_kind(controller);
  return kind != nullptr && find_operated_kind(kind->type.kind) != nullptr ? &kind->type : nullptr;
}

const ResourceType& controller_type(const ResourceType& operated) {
  return operated == kDeployments ? kReplicaSets : operated;
}

bool pod_is_ready(const json& pod) {
  return has_condition(pod, "Ready");
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
  if (find_operated_kind(change.type->kind) != nullptr) {
    if (!change.removed) look_soon(key_of(*change.type, *change.after));
    return;
  }
  if (*change.type != kPods) return;
  const std::optional<OwnerReference> owner = controller_of(*change.after);
  if (!owner) return;
  if (const ResourceType* type = operated_type(*owner))
    look_soon({type, std::string(string_at(*change.after, {"metadata", "namespace"})), owner->name});
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
    if (*key.type != kPods) continue;
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
  if (jobs::find_job_kind(*key.type)->is_serving())
    run_set(sync);
  else
    run_job(sync);
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
  metadata["ownerReferences"] =
      json::array({controller_reference(controller_type(*sync.key.type), read_meta(*sync.object), true)});
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

void Operators::run_job(const Sync& sync) {
  const json& job = *sync.object;
  const jobs::JobKind& kind = *jobs::find_job_kind(*sync.key.type);
  const OperatedKind& operated = *find_operated_kind(kind.type.kind);
  if (kind.end(read_object(kind.type, job))) return remove_pods(sync, {});
  size_t ready = 0;
  PodProgress progress{.suspended = kind.suspended(job)};
  for (const ObjectPtr& pod : sync.pods) {
    progress.active += !pod_has_ended(*pod);
    ready += pod_is_ready(*pod) && !is_deleting(*pod);
  }
  if (progress.suspended) {
    remove_pods(sync, {});
    return write_status(sync, operated.status(progress));
  }
  const std::vector<WantedPod> wanted = operated.pods(job);
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
  write_status(sync, operated.status(progress));
}

void Operators::run_set(const Sync& sync) {
  const bool ordered = *sync.key.type == kStatefulSets;
  const std::vector<WantedPod> wanted = find_operated_kind(sync.key.type->kind)->pods(*sync.object);
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

}  // namespace muster::world
