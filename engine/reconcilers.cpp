#include "engine/reconcilers.h"

#include "reconcilers/gang/group_scheduling.h"
#include "reconcilers/job/job_workload.h"
#include "reconcilers/jobset/jobset.h"
#include "reconcilers/jobset/jobset_crd.h"
#include "reconcilers/pod/pod_workload.h"
#include "reconcilers/queues/admission_check.h"
#include "reconcilers/queues/cluster_queue.h"
#include "reconcilers/queues/cohort.h"
#include "reconcilers/queues/local_queue.h"
#include "reconcilers/queues/resource_flavor.h"
#include "reconcilers/serving/serving_set.h"
#include "reconcilers/workload/admission.h"
#include "reconcilers/workload/workload.h"

namespace muster {

std::span<const Reconciler* const> reconcilers() {
  // Whether a job may run is decided first; then the JobSet controller makes the Jobs
  // whose gangs the next one starts.
  // What the scheduler has decided about a Workload is written before its own course is
  // looked at. Jobs are asked before Workloads; queues and what they name come last, they only show.
  static const Reconciler* const kTable[] = {
      &job_workload_reconciler,     &serving_set_reconciler, &pod_workload_reconciler, &jobset_reconciler,
      &group_scheduling_reconciler, &jobset_crd_reconciler,  &admission_reconciler,    &workload_reconciler,
      &cluster_queue_reconciler,    &cohort_reconciler,      &local_queue_reconciler,  &resource_flavor_reconciler,
      &admission_check_reconciler};
  return kTable;
}

}  // namespace muster
