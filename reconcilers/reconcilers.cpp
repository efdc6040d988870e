// The table of all reconcilers, in the order in which they are asked.
#include "reconcilers/group_scheduling.h"
#include "reconcilers/jobset.h"
#include "reconcilers/jobset_crd.h"
#include "reconcilers/reconciler.h"

namespace muster {

std::span<const Reconciler* const> reconcilers() {
  // The JobSet controller makes the Jobs whose gangs the next one starts.
  static const Reconciler* const kTable[] = {&jobset_reconciler, &group_scheduling_reconciler, &jobset_crd_reconciler};
  return kTable;
}

}  // namespace muster
