// A job that is being deleted. It can stay so for long: garbage collection waits for its pods, or a finalizer of
// another owner holds it, and its pods run on. Pure.
//
// Kueue lets its Workload go at once. Here it takes nothing new, it is stopped as any other when its quota is taken
// away, and gives its quota back when none of its pods is left (reconcilers/workload/pods_left.h).
#pragma once

#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

Step give_back_when_deleted(const JobContext& context, Plan& plan);

}  // namespace muster::reconcilers
