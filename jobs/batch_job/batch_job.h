// A batch/v1 Job.
// Source: Kueue, pkg/controller/jobs/job.
#pragma once

#include <optional>

#include "jobs/job_kind.h"

namespace muster::jobs {

// How the Job ended; nullopt: it has not.
std::optional<JobEnd> end_of(const Job& job);

}  // namespace muster::jobs
