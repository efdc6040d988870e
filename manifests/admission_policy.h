// The objects of an admission policy of the API server: the policy and its binding, with one name and muster's label.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace muster::manifests {

// `kind`: ValidatingAdmissionPolicy or MutatingAdmissionPolicy. `binding`: what its binding says beside the name.
std::vector<nlohmann::json> admission_policy(std::string_view kind, std::string_view name, nlohmann::json spec,
                                             nlohmann::json binding);

}  // namespace muster::manifests
