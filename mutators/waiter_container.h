// The init container and the volume of a start barrier (KEP-498), as JSON.
// jobs/group_scheduling.h has the contract that the container keeps.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "api/config/rule_settings.h"
#include "api/review/cluster_view.h"
#include "jobs/group_scheduling.h"
#include "jobs/job_kind.h"

namespace muster::mutators {

// The waiter for one pod template of a job of this kind. It passes the restricted Pod
// Security level. It asks for cpu or memory only if every main container of `pod_spec`
// does, never more than the one that asks least, and with requests equal to limits: so
// the pod's request and its QoS class stay what they were without it.
nlohmann::json waiter_container(const jobs::JobKind& kind, const WaiterSettings& settings,
                                const jobs::GroupConfig& config, const nlohmann::json& pod_spec,
                                const ContainerMinimum& minimum);

nlohmann::json barrier_volume(std::string_view config_map);

// The waiter for images that have a shell and `sleep` but not muster-wait: the same
// arguments, environment, exit codes and messages. POSIX sh.
std::string_view waiter_shell_loop();

}  // namespace muster::mutators
