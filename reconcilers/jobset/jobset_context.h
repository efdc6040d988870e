// One pass over one JobSet: the input of the parts of jobset.cpp, and their common writes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/jobset.h"
#include "reconcilers/jobset/jobset_attempt.h"
#include "reconcilers/reconciler.h"
#include "state/write_pauses.h"

namespace muster::reconcilers {

struct JobSetContext : ReconcileContext {
  const JobSet& jobset;
  JobSetAttempt run;
};

// Of the writes for one part of what the JobSet asks for.
state::Maker maker_of(const JobSet& jobset, std::string part);

void patch_job(const Job& job, Verb verb, nlohmann::json patch, Plan& plan);
// `maker`: of deletes after which the Jobs are made again. While it pauses, they do not run.
void delete_jobs(const JobSetContext& context, const std::vector<const Job*>& jobs,
                 const std::optional<state::Maker>& maker, Plan& plan);
void remake_jobs(const JobSetContext& context, const std::vector<const Job*>& jobs, Plan& plan);
// A restart is not held up: each attempt deletes the Jobs of the attempts before it once.
void delete_older_jobs(const JobSetContext& context, Plan& plan);

}  // namespace muster::reconcilers
