// Which replicated jobs of a JobSet can have Jobs: dependsOn and startupPolicy. Pure.
//
// Source: kubernetes-sigs/jobset, pkg/controllers (startup_policy.go, depends_on.go) and KEP-672.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/jobset.h"

namespace muster::jobs {

// The condition that an InOrder start is over.
inline constexpr std::string_view kStartupPolicyCompleted = "StartupPolicyCompleted";

// nullptr when there is no entry of that name.
const ReplicatedJobStatus* find_counts(const std::vector<ReplicatedJobStatus>& counts, std::string_view replicated_job);
// Jobs that are ready or have ended.
int64_t started(const ReplicatedJobStatus& counts);

// Which replicated jobs can have Jobs now (created, and resumed), in the JobSet's order.
struct StartupGates {
  std::vector<bool> open;
  // An InOrder start that has not come to its end.
  bool in_progress = false;
};
// dependsOn holds back a replicated job until those before it are Ready or Complete; InOrder until all before it have
// started, but while the JobSet is suspended all of its Jobs are made. A completed InOrder start stays complete while
// its Jobs are there (`released`: all of them were let run), for any state of their pods.
StartupGates startup_gates(const JobSet& jobset, const std::vector<ReplicatedJobStatus>& counts, bool released);
// What a replicated job waits for by the JobSet's status, for people: "until prep is complete". Empty: it can start.
std::string closed_until(const JobSet& jobset, size_t replicated_job);

}  // namespace muster::jobs
