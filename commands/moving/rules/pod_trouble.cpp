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

PodTrouble trouble_with(const json& pod, const json& container, std::string_view reason, std::string_view message) {
  const std::string kubectl = "kubectl -n " + std::string(string_at(pod, {"metadata", "namespace"})) + " ";
  const std::string name(string_at(pod, {"metadata", "name"})), image(string_at(container, {"image"}));
  const std::string why = std::string(reason) + (message.empty() ? "" : ": " + std::string(message));
  if (is_one_of(reason, kImageReasons))
    return {"its image " + image + " cannot be pulled (" + why + ")",
            "push the image there (docs/install.md), or correct its name: " + kubectl + "set image deployment/muster " +
                std::string(string_at(container, {"name"})) +
                "=IMAGE, with Helm: --set image.repository=, image.tag= or image.pullSecrets="};
  if (reason == "CrashLoopBackOff") return {"it exits again and again", kubectl + "logs " + name + " --previous"};
  return {"it cannot start (" + why + ")", kubectl + "describe pod " + name};
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
  return std::nullopt;
}

}  // namespace muster::commands
