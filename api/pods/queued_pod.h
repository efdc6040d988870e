// A pod that Kueue's rules manage by itself (label kueue.x-k8s.io/managed), alone or with others of a group.
// Source: k8s.io/api/core/v1; Kueue, pkg/controller/jobs/pod.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/pod_spec.h"

namespace muster {

struct QueuedPod {
  ObjectMeta meta;
  // Never null. Equal values are shared: state/template_pool.h.
  mutable PodSpecPtr spec;
  std::vector<std::string> gates;  // spec.schedulingGates, by name
  std::string phase;               // "Pending", "Running", "Succeeded", "Failed", "Unknown"; can be empty
  std::string message;             // status.message
  std::string node;                // empty: not scheduled
  std::string role;                // see role_of()
  bool ready = false;              // condition Ready
  Timestamp deleted;               // deletionTimestamp; zero: it is not being deleted
  int64_t grace_seconds = 0;       // deletionGracePeriodSeconds
  Timestamp failed_at;             // when its containers were declared failed; zero: not known
  // JSON text of status.conditions, which is written whole.
  std::string conditions_text;
  bool stopping = false;  // condition TerminationTarget: muster or another controller deletes it

  bool gated() const;
  bool succeeded() const { return phase == "Succeeded"; }
  bool failed() const { return phase == "Failed"; }
  bool terminated() const { return succeeded() || failed(); }
  // Can run, runs, or has succeeded. What is deleted before it has a node never runs.
  bool counts() const { return !(meta.deleting && node.empty()) && !failed(); }
  // The name of its group; empty: it is alone. The annotation comes before the label.
  std::string_view group() const;
};

QueuedPodPtr read_queued_pod(const nlohmann::json& object);

// The name of the pod set that the pod belongs to in its group: the annotation kueue.x-k8s.io/role-hash, else
// shape_hash() of its spec.
std::string role_of(const nlohmann::json& pod);
// Eight hexadecimal digits over what matters to admission in a PodSpec: requests, ports, and where it can run.
// Two specs that differ in names, images or limits only have the same.
std::string shape_hash(const nlohmann::json& pod_spec);

// A pod by itself or the pods of a group, as one job. Not an object of the API: made from what is known.
struct PodGroup {
  ObjectMeta meta;                 // of the first pod
  std::string group;               // empty: one pod by itself
  std::vector<QueuedPodPtr> pods;  // never empty; by name
  // Some of its pods use nodes.
  bool active = false;
  // Pods that have succeeded and are not there any more, by role.
  std::map<std::string, int32_t, std::less<>> gone{};
};

}  // namespace muster
