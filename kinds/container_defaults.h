// What the API server adds to the containers of a pod that says nothing about it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace muster {

// Of one container or init container; anything but an object is left as it is.
void fill_container_defaults(nlohmann::json& container);

}  // namespace muster
