// What of a PodSpec matters to admission: requests and ports of the containers, and where the pod can run. As the
// originals print it, for messages and for shape_hash() (api/pods/queued_pod.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace muster {

// {"affinity": ..., "containers": [...], ...}: members in alphabetic order, what the spec does not say is null.
nlohmann::ordered_json pod_shape(const nlohmann::json& pod_spec);

}  // namespace muster
