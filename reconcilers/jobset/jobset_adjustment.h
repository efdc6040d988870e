// How a Job that exists comes to what its JobSet asks for now: suspended or resumed, scaled, cut back. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/job.h"
#include "api/jobset.h"
#include "reconcilers/command.h"

namespace muster::reconcilers {

// What the JobSet says of the Job.
struct WantedRun {
  bool suspended = false;
  bool open = false;                           // its replicated job can start: see StartupGates
  bool records = false;                        // records_templates(): the Job records what its template has been given
  bool elastic = false;                        // ReconcilerSettings::elastic_jobsets
  std::optional<int32_t> execution_attempt{};  // ChildJobOptions::execution_attempt, of a Job that is resumed
};

// One write at most. `patch` is null: the Job is as it is to be.
struct JobAdjustment {
  bool remake = false;  // it is deleted and created again
  Verb verb = Verb::kPatch;
  nlohmann::json patch{};
};

JobAdjustment adjustment_of(const Job& job, const ReplicatedJob& replicated, const WantedRun& wanted);

}  // namespace muster::reconcilers
