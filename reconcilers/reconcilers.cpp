#include "reconcilers/reconcilers.h"

#include "reconcilers/admission.h"
#include "reconcilers/admission_check.h"
#include "reconcilers/cluster_queue.h"
#include "reconcilers/cohort.h"
#include "reconcilers/group_scheduling.h"
#include "reconcilers/job_workload.h"
#include "reconcilers/jobset.h"
#include "reconcilers/jobset_crd.h"
#include "reconcilers/local_queue.h"
#include "reconcilers/resource_flavor.h"
#include "reconcilers/workload.h"

namespace muster {

std::span<const Reconciler* const> reconcilers() {
  // Whether a job may run is decided first; then the JobSet controller makes the Jobs
  // whose gangs the next one starts.
  // What the scheduler has decided about a Workload is written before its own course is
  // looked at. Jobs are asked before Workloads; queues and what they name come last, they only show.
  static const Reconciler* const kTable[] = {
      &job_workload_reconciler, &jobset_reconciler,          &group_scheduling_reconciler, &jobset_crd_reconciler,
      &admission_reconciler,    &workload_reconciler,        &cluster_queue_reconciler,    &cohort_reconciler,
      &local_queue_reconciler,  &resource_flavor_reconciler, &admission_check_reconciler};
  return kTable;
}

}  // namespace muster
