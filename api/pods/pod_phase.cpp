#include "api/pods/pod_phase.h"

#include "api/codec/json.h"

namespace muster {

bool pod_has_ended(const nlohmann::json& pod) {
  return is_final_phase(string_at(pod, {"status", "phase"}));
}

}  // namespace muster
