// Whether an installation of muster is complete, for installers and pipelines. Pure.
#pragma once

#include <string>
#include <vector>

#include "commands/moving/rules/doctor.h"

namespace muster::commands {

// What the dump does not show.
struct StatusFacts {
  DoctorFacts cluster{};          // its namespace and clocks are read
  std::string webhook_problem{};  // "webhooks do not answer: ..."; empty: muster answered a dry run
};

// One line for each part that is missing; empty: muster is installed, all replicas of its present version are ready,
// its webhooks answer and one of its replicas leads.
std::vector<std::string> missing_parts(const ClusterDump& dump, const StatusFacts& facts);

// Of an installation without a missing part: "2 of 2 replicas are ready, the webhooks answer, muster-a leads".
std::string complete_status(const ClusterDump& dump, const StatusFacts& facts);

}  // namespace muster::commands
