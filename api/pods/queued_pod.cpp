#include "api/pods/queued_pod.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"

namespace muster {
namespace {

using nlohmann::json;

void read_conditions_of(const json& object, QueuedPod& pod) {
  const json& conditions = array_at(object, {"status", "conditions"});
  pod.conditions_text = to_text(conditions);
  for (const json& condition : conditions) {
    const std::string_view type = string_at(condition, {"type"});
    const std::string_view status = string_at(condition, {"status"});
    if (type == "Ready") pod.ready = status == "True";
    if (type == kTerminationTarget) pod.stopping = status == "True";
    if (type == "ContainersReady" && status == "False" && string_at(condition, {"reason"}) == "Failed")
      pod.failed_at = time_at(condition, {"lastTransitionTime"});
  }
}

}  // namespace

bool QueuedPod::gated() const {
  return std::find(gates.begin(), gates.end(), kAdmissionGate) != gates.end();
}

std::string_view QueuedPod::group() const {
  const std::string_view annotated = meta.annotation(kPodGroupName);
  return annotated.empty() ? meta.label(kPodGroupName) : annotated;
}

QueuedPodPtr read_queued_pod(const json& object) {
  auto pod = std::make_shared<QueuedPod>();
  pod->meta = read_meta(object);
  pod->spec = std::make_shared<const PodSpec>(object_at(object, {"spec"}));
  for (const json& gate : array_at(object, {"spec", "schedulingGates"}))
    pod->gates.emplace_back(string_at(gate, {"name"}));
  pod->phase = string_at(object, {"status", "phase"});
  pod->message = string_at(object, {"status", "message"});
  pod->node = string_at(object, {"spec", "nodeName"});
  pod->role = role_of(object);
  pod->deleted = time_at(object, {"metadata", "deletionTimestamp"});
  pod->grace_seconds = int_at(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
  read_conditions_of(object, *pod);
  return pod;
}

}  // namespace muster
