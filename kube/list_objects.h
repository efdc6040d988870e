// A list as values that can stand alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "kube/api.h"

namespace muster::kube {

// The objects of a kind, each with its apiVersion and kind, which the items of a list do not have. All are held in
// memory at once: for commands, and not for what runs for long. Blocks.
Result<std::vector<nlohmann::json>, StatusError> list_objects(KubeApi& api, const Resource& resource,
                                                              const Selection& selection);

}  // namespace muster::kube
