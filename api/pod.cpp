#include "api/pod.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"

namespace muster {
namespace {

using nlohmann::json;

void read_waiter(const json& status, Pod& pod) {
  const json& state = object_at(status, {"state"});
  if (find_path(state, {"running"}) != nullptr) {
    pod.waiter = WaiterState::kWaiting;
    pod.waiter_started = time_at(state, {"running", "startedAt"});
  } else if (find_path(state, {"terminated"}) != nullptr) {
    pod.waiter_exit_code = static_cast<int>(int_at(state, {"terminated", "exitCode"}).value_or(0));
    pod.waiter = pod.waiter_exit_code == 0 ? WaiterState::kPassed : WaiterState::kFailed;
    pod.waiter_started = time_at(state, {"terminated", "startedAt"});
  } else if (int_at(status, {"lastState", "terminated", "exitCode"})) {
    // Between two attempts (CrashLoopBackOff) a container is neither started nor a new failure.
    pod.waiter = WaiterState::kFailed;
    pod.waiter_exit_code = static_cast<int>(int_at(status, {"lastState", "terminated", "exitCode"}).value_or(0));
    pod.waiter_started = time_at(status, {"lastState", "terminated", "startedAt"});
  }
}

std::string sentence(std::string_view reason, std::string_view message) {
  if (reason.empty()) return std::string(message);
  if (message.empty()) return std::string(reason);
  return std::string(reason) + ": " + std::string(message);
}

// The first init container that is stuck, otherwise the reason why no node accepted the pod.
std::string read_hindrance(const json& object) {
  for (const json& status : array_at(object, {"status", "initContainerStatuses"})) {
    const json& waiting = object_at(status, {"state", "waiting"});
    const std::string_view reason = string_at(waiting, {"reason"});
    if (reason.empty() || reason == "PodInitializing" || reason == "ContainerCreating") continue;
    return sentence(reason, string_at(waiting, {"message"}));
  }
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) != "PodScheduled" || string_at(condition, {"status"}) == "True") continue;
    return sentence(string_at(condition, {"reason"}), string_at(condition, {"message"}));
  }
  return "";
}

}  // namespace

PodPtr read_pod(const json& object) {
  auto pod = std::make_shared<Pod>();
  pod->meta = read_meta(object);
  pod->phase = string_at(object, {"status", "phase"});
  pod->node = string_at(object, {"spec", "nodeName"});
  for (const json& volume : array_at(object, {"spec", "volumes"})) {
    if (string_at(volume, {"name"}) == kGroupVolume) pod->barrier_config_map = string_at(volume, {"configMap", "name"});
  }
  for (const json& status : array_at(object, {"status", "initContainerStatuses"})) {
    if (string_at(status, {"name"}) == kGroupInitContainer) read_waiter(status, *pod);
  }
  if (pod->waiter == WaiterState::kNotStarted) pod->hindrance = read_hindrance(object);
  return pod;
}

}  // namespace muster
