// Which Workload is meant by the name of a job: users know their jobs, and Workloads have names with a hash.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "api/meta/resource_type.h"
#include "base/result.h"
#include "kube/api.h"

namespace muster::commands {

// Pure. Of Workloads (an array): the one that an object of this name owns, which has not finished before one that has.
// An error when there is none, or several. `kind`: of the owner; nullptr: any.
Result<std::string> workload_name_of(const nlohmann::json& workloads, const ResourceType* kind, std::string_view owner);

// Lists the Workloads of the namespace with the person's rights.
Result<std::string> find_workload_name(kube::KubeApi& api, const std::string& ns, const std::string& owner,
                                       const ResourceType* kind);

}  // namespace muster::commands
