// What Kueue fills in, per version, and the way from v1beta1 to v1beta2. Part of
// api/config/configuration.h's implementation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace muster {

// Both take decoded values (api/config/configuration_decode.h) of their version and leave
// the v1beta2 form with every default.
void apply_v1beta2_defaults(nlohmann::json& configuration, std::string_view operator_namespace);
// Waiting for ready pods: off unless enabled; then timeout 5m, blockAdmission, and no
// recovery timeout unless the file sets one (KEP-349, where today's Kueue takes the timeout).
void convert_v1beta1(nlohmann::json& configuration, std::string_view operator_namespace);

}  // namespace muster
