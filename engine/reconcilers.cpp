#include "engine/reconcilers.h"

#include "reconcilers/checks/check_answers.h"
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

namespace muster::engine {

std::span<const reconcilers::Reconciler* const> reconcilers() {
  // The first reconciler decides whether a job can run. Then the JobSet controller creates the Jobs whose gangs
  // the next reconciler starts.
  // The decision of the scheduler about a Workload is written before the Workload's own reconciler runs. Jobs
  // are planned before Workloads. A check is answered after the Workload has it. Queues and the objects that they name
  // are last, because their reconcilers only write a status.
  static const reconcilers::Reconciler* const kTable[] = {
      &reconcilers::job_workload_reconciler,     &reconcilers::serving_set_reconciler,
      &reconcilers::pod_workload_reconciler,     &reconcilers::jobset_reconciler,
      &reconcilers::group_scheduling_reconciler, &reconcilers::jobset_crd_reconciler,
      &reconcilers::admission_reconciler,        &reconcilers::workload_reconciler,
      &reconcilers::check_answers_reconciler,    &reconcilers::cluster_queue_reconciler,
      &reconcilers::cohort_reconciler,           &reconcilers::local_queue_reconciler,
      &reconcilers::resource_flavor_reconciler,  &reconcilers::admission_check_reconciler};
  return kTable;
}

// Empty: the controllers of all checks are other programs.
reconcilers::CheckControllers check_controllers() {
  return {};
}

}  // namespace muster::engine
