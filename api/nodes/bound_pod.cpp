#include "api/nodes/bound_pod.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pod_spec.h"
#include "api/pods/pod_requests.h"

namespace muster {

using nlohmann::json;

std::optional<BoundPod> read_bound_pod(const json& object) {
  const std::string_view node = string_at(object, {"spec", "nodeName"}), phase = string_at(object, {"status", "phase"});
  if (node.empty() || phase == "Succeeded" || phase == "Failed") return std::nullopt;
  BoundPod pod{.uid = std::string(string_at(object, {"metadata", "uid"})),
               .ns = std::string(string_at(object, {"metadata", "namespace"})),
               .node = std::string(node),
               .workload = std::string(string_at(object, {"metadata", "annotations", kWorkloadAnnotation})),
               .pod_set = std::string(string_at(object, {"metadata", "labels", kPodSetLabel})),
               .deleting = !string_at(object, {"metadata", "deletionTimestamp"}).empty()};
  pod.requests = to_requests(pod_requests(template_resources(*read_requests(object_at(object, {"spec"})))));
  pod.requests["pods"] = 1;
  return pod;
}

}  // namespace muster
