#include "commands/moving/rules/pod_trouble.h"

#include <algorithm>

#include "api/codec/json.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// Source: pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime/kuberuntime_container.go.
constexpr std::string_view kImageReasons[] = {"ImagePullBackOff",         "ErrImagePull",      "ErrImageNeverPull",
                                              "InvalidImageName",         "ImageInspectError", "RegistryUnavailable",
                                              "SignatureValidationFailed"};
constexpr std::string_view kPassing[] = {"", "ContainerCreating", "PodInitializing"};

template <size_t N>
bool is_one_of(std::string_view reason, const std::string_view (&reasons)[N]) {
  return std::find(std::begin(reasons), std::end(reasons), reason) != std::end(reasons);
}

std::string kubectl_for(const json& pod) {
  return "kubectl -n " + std::string(string_at(pod, {"metadata", "namespace"})) + " ";
}

// How the process of a container ended the last time: " (OOMKilled, exit code 137)".
std::string last_end(const json& container) {
  const json& end = object_at(container, {"lastState", "terminated"});
  const std::string_view reason = string_at(end, {"reason"});
  if (reason.empty()) return "";
  const auto code = int_at(end, {"exitCode"});
  return " (" + std::string(reason) + (code ? ", exit code " + std::to_string(*code) : "") + ")";
}

PodTrouble crashing(const json& pod, const json& container) {
  const std::string kubectl = kubectl_for(pod), name(string_at(container, {"name"}));
  const bool out_of_memory = string_at(container, {"lastState", "terminated", "reason"}) == "OOMKilled";
  return {"crash", "it exits again and again" + last_end(container),
          out_of_memory ? kubectl + "set resources deployment/muster -c " + name +
                              " --limits memory=2Gi, with Helm: --set resources.limits.memory=2Gi"
                        : kubectl + "logs " + std::string(string_at(pod, {"metadata", "name"})) + " --previous"};
}

PodTrouble trouble_with(const json& pod, const json& container, std::string_view reason, std::string_view message) {
  const std::string kubectl = kubectl_for(pod), name(string_at(container, {"name"}));
  const std::string image(string_at(container, {"image"}));
  const std::string why = std::string(reason) + (message.empty() ? "" : ": " + std::string(message));
  if (is_one_of(reason, kImageReasons))
    return {"image " + image, "its image " + image + " cannot be pulled (" + why + ")",
            "push the image there (docs/install.md), or correct its name: " + kubectl + "set image deployment/muster " +
                name + "=IMAGE, with Helm: --set image.repository=, image.tag= or image.pullSecrets="};
  if (reason == "CrashLoopBackOff") return crashing(pod, container);
  return {std::string(reason), "it cannot start (" + why + ")",
          kubectl + "describe pod " + std::string(string_at(pod, {"metadata", "name"}))};
}

// The scheduler's text names what is missing: capacity, a toleration, or a label of a node.
std::string placing_remedy(const std::string& kubectl, std::string_view message) {
  if (message.find("Insufficient") != std::string_view::npos || message.find("Too many pods") != std::string_view::npos)
    return "add a node, or request less: " + kubectl +
           "set resources deployment/muster --requests cpu=50m,memory=64Mi, with Helm: --set "
           "resources.requests.cpu=50m";
  if (message.find("taint") != std::string_view::npos)
    return "add a toleration of this taint to spec.template.spec.tolerations: " + kubectl +
           "edit deployment muster, with Helm: tolerations in the values";
  return "correct what the scheduler names (nodeSelector, affinity): " + kubectl +
         "edit deployment muster, with Helm: nodeSelector and affinity in the values";
}

std::optional<PodTrouble> unscheduled(const json& pod) {
  for (const json& condition : array_at(pod, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) != "PodScheduled" || string_at(condition, {"status"}) != "False") continue;
    const std::string_view reason = string_at(condition, {"reason"}), message = string_at(condition, {"message"});
    return PodTrouble{std::string("unschedulable"),
                      "the scheduler finds no node for it (" + std::string(reason) + ": " + std::string(message) + ")",
                      placing_remedy(kubectl_for(pod), message)};
  }
  return std::nullopt;
}

}  // namespace

bool runs(const json& pod) {
  const json& containers = array_at(pod, {"status", "containerStatuses"});
  return std::any_of(containers.begin(), containers.end(), [](const json& container) {
    return find_path(container, {"state", "running"}) != nullptr;
  });
}

std::optional<PodTrouble> trouble_of(const json& pod) {
  for (const json& container : array_at(pod, {"status", "containerStatuses"})) {
    const json& waiting = object_at(container, {"state", "waiting"});
    const std::string_view reason = string_at(waiting, {"reason"});
    if (!is_one_of(reason, kPassing)) return trouble_with(pod, container, reason, string_at(waiting, {"message"}));
  }
  return unscheduled(pod);
}

}  // namespace muster::commands
