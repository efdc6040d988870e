// The parts of nodes, definitions and pods of jobs that a bug report has. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "commands/moving/rules/cluster_dump.h"

namespace muster::commands {

// Without schemas: names, scope, conversion, versions, and the status.
nlohmann::json definition_summary(const nlohmann::json& definition);
// Without the list of images.
nlohmann::json node_summary(nlohmann::json node);

// Namespaces with a Workload that is admitted and not finished, and whose pods are not all ready.
std::set<std::string> namespaces_of_late_jobs(const ClusterDump& dump);
// Whether it has not ended and is not ready.
bool is_late(const nlohmann::json& pod);
// Only what says where a pod can run and why it does not: no environment, commands, arguments, volumes, annotations of
// other programs, or last words of a container.
nlohmann::json late_pod_summary(const nlohmann::json& pod);

}  // namespace muster::commands
