// Source: core/v1 PodStatus.phase.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace muster {

// No container of such a pod runs again.
constexpr bool is_final_phase(std::string_view phase) {
  return phase == "Succeeded" || phase == "Failed";
}
bool pod_has_ended(const nlohmann::json& pod);

}  // namespace muster
