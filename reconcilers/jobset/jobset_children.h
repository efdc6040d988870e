// What muster makes for a JobSet, and how far its Jobs run: the headless Service, the claims and the Jobs.
#pragma once

#include "reconcilers/jobset/jobset_attempt.h"
#include "reconcilers/jobset/jobset_context.h"

namespace muster::reconcilers {

// Creates what is missing, and resumes, suspends, scales or replaces the Jobs that exist. Nothing starts or grows
// before the queues let it (JobSetQuota).
void keep_children(const JobSetContext& context, const jobs::StartupGates& gates, Plan& plan);

}  // namespace muster::reconcilers
